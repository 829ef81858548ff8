#!/bin/sh
# Installs, upgrades and removes a service of Tercet on a machine with systemd.
# Run twice, it leaves the same state and restarts the service.
set -eu

usage() {
  cat <<'TEXT'
Installs a service of Tercet on a machine with systemd.

usage: install.sh install NAME --executable FILE [--settings FILE] [options]
       install.sh rollback NAME [options]
       install.sh uninstall NAME [--purge] [options]

NAME is ratelimit, tasks, relayer or keyserver, or one of these with a suffix,
such as keyserver-2. An install over another one is an upgrade; the data stay.
When health does not come, the release before is put back and started.

  --executable FILE  the program
  --settings FILE    lines of NAME=value; without it, those that are there stay
  --health URL       asked until it answers with 200 [default: by NAME and PORT]
  --wait SECONDS     how long to wait for health [default: 30]
  --purge            remove data, settings and the user as well
  --root DIR         write below DIR, make no user; for images and tests
  --dry-run          print what would be done
  --help             show this text

exit codes: 0 done; 1 failed; 2 wrong usage; 3 health did not come or the script
            was interrupted, and the release before is running again
TEXT
}

fail() { echo "$2" >&2; exit "$1"; }
misuse() { fail 2 "Cannot install: $1; see install.sh --help"; }

# Runs a command; with --dry-run only prints it.
run() {
  if [ -n "$dry_run" ]; then echo "would run: $*"; else "$@"; fi
}

command=''
name=''
executable=''
settings=''
health=''
wait_seconds=30
purge=''
root=''
dry_run=''
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h) usage; exit 0 ;;
  --purge) purge=yes ;;
  --dry-run) dry_run=yes ;;
  --executable | --settings | --health | --wait | --root)
    [ $# -ge 2 ] || misuse "$1 needs a value"
    case $1 in
    --executable) executable=$2 ;;
    --settings) settings=$2 ;;
    --health) health=$2 ;;
    --wait) wait_seconds=$2 ;;
    --root) root=${2%/} ;;
    esac
    shift
    ;;
  -*) misuse "no option \"$1\"" ;;
  *)
    if [ -z "$command" ]; then command=$1
    elif [ -z "$name" ]; then name=$1
    else misuse "\"$1\" is one argument too many"; fi
    ;;
  esac
  shift
done

case $command in
install | rollback | uninstall) ;;
'') usage >&2; exit 2 ;;
*) misuse "no command \"$command\"" ;;
esac
case $name in
*[!a-z0-9-]*) misuse "the name \"$name\" has other characters than a-z, 0-9 and -" ;;
esac
case $name in
ratelimit | ratelimit-?*) default_port=8080 health_path=/healthcheck ;;
tasks | tasks-?*) default_port=8070 health_path=/readyz ;;
relayer | relayer-?*) default_port=8000 health_path=/readyz ;;
keyserver | keyserver-?*) default_port=8100 health_path=/health ;;
*) misuse "the name \"$name\" begins with no service" ;;
esac
case $wait_seconds in
'' | *[!0-9]*) misuse "--wait takes seconds, not \"$wait_seconds\"" ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
user=tercet-$name
unit=tercet@$name.service
home=$root/opt/tercet/$name
config=$root/etc/tercet
env_file=$config/$name.env
units=$root/etc/systemd/system
data=$root/var/lib/tercet/$name
cache=$root/var/cache/tercet/$name

if [ -z "$root" ] && [ -z "$dry_run" ] && [ "$(id -u)" -ne 0 ]; then
  fail 1 "Cannot $command \"$name\": it needs root"
fi

# Prints the URL of the health check, by the settings in $1 or those installed. Of
# several PORT lines the last one counts, and quotes, spaces and CRLF are no part of
# the port, as it is for systemd.
health_url() {
  if [ -n "$health" ]; then
    echo "$health"
    return
  fi
  port=$default_port
  if [ -r "${1:-$env_file}" ]; then
    s='[[:space:]]*' q="[\"']\\{0,1\\}"
    set_port=$(sed -n "s/^${s}PORT$s=$s$q\\([0-9][0-9]*\\)$q$s\$/\\1/p" "${1:-$env_file}" | tail -n 1)
    port=${set_port:-$port}
  fi
  echo "http://127.0.0.1:$port$health_path"
}

asks() {
  if command -v curl >/dev/null; then
    curl --silent --fail --max-time 2 --output /dev/null "$1"
  else
    wget -q -T 2 -O /dev/null "$1"
  fi
}

wait_for_health() {
  url=$(health_url)
  left=$wait_seconds
  while ! { systemctl is-active --quiet "$unit" && asks "$url"; }; do
    [ "$left" -gt 0 ] || return 1
    left=$((left - 1))
    sleep 1
  done
}

# Fails when health would be that of another program: one that answers where this
# service does not listen yet.
refuse_taken_port() {
  [ -z "$health" ] || return 0
  wanted=$(health_url "$settings")
  if [ "$wanted" = "$(health_url)" ] && systemctl is-active --quiet "$unit"; then
    return 0
  fi
  ! asks "$wanted" 2>/dev/null ||
    fail 1 "Cannot install \"$name\": another program answers at $wanted; set another PORT"
}

# Lets one script at a time change this service.
lock() {
  mkdir -p "$home"
  exec 9<"$home"
  flock --nonblock 9 ||
    fail 1 "Cannot $command \"$name\": another install.sh does so now; wait until it has ended"
}

# Points a link at a target in one step, so that the link always exists.
point() {
  run ln -sfn "$2" "$1.new"
  run mv -Tf "$1.new" "$1"
}

restart() {
  run systemctl daemon-reload
  run systemctl enable --quiet "$unit"
  run systemctl restart "$unit"
}

make_user() {
  [ -z "$root" ] || return 0
  id "$user" >/dev/null 2>&1 && return 0
  run useradd --system --user-group --no-create-home \
    --home-dir "/var/lib/tercet/$name" --shell /usr/sbin/nologin "$user"
}

put_settings() {
  run mkdir -p "$config"
  if [ -n "$settings" ]; then
    run install -m 0600 "$settings" "$env_file.new"
    run mv -f "$env_file.new" "$env_file"
  elif [ ! -e "$env_file" ]; then
    run install -m 0600 /dev/null "$env_file"
  fi
}

install_service() {
  [ -n "$executable" ] || misuse "--executable is missing"
  [ -f "$executable" ] || fail 1 "Cannot install \"$name\": there is no file \"$executable\""
  [ -z "$settings" ] || [ -f "$settings" ] ||
    fail 1 "Cannot install \"$name\": there is no file \"$settings\""
  if [ -z "$dry_run" ]; then
    refuse_taken_port
    lock
  fi
  hash=$(sha256sum "$executable" | cut -c 1-16)
  release=releases/$hash
  before=''
  [ ! -L "$home/current" ] || before=$(readlink "$home/current")
  make_user
  run mkdir -p "$home/releases" "$units"
  if [ ! -e "$home/$release" ]; then
    run install -m 0755 "$executable" "$home/$release.new" || {
      # A part of it would keep a full disk full.
      rm -f "$home/$release.new"
      exit 1
    }
    run mv -f "$home/$release.new" "$home/$release"
  fi
  # The old settings are kept, since a rollback restores them, too.
  if [ -e "$env_file" ]; then
    run cp -p "$env_file" "$env_file.before.new"
    run mv -f "$env_file.before.new" "$env_file.before"
  fi
  # From here on an upgrade that is cut short ends as one without health does.
  if [ -z "$dry_run" ]; then
    trap 'go_back "it was interrupted"' HUP INT TERM
    trap 'go_back "a step failed"' EXIT
  fi
  put_settings
  run install -m 0644 "$here/tercet@.service" "$units/tercet@.service"
  point "$home/current" "$release"
  restart || true
  if [ -n "$dry_run" ]; then
    echo "would wait for $(health_url)"
    return
  fi
  if wait_for_health; then
    trap '' HUP INT TERM
    trap - EXIT
    rm -f "$env_file.before"
    if [ -n "$before" ] && [ "$before" != "$release" ]; then
      point "$home/previous" "$before"
    fi
    tidy
    echo "Installed $name, release $hash: $(health_url) answers"
    return
  fi
  go_back "$(health_url) gave no health in $wait_seconds s"
}

# Puts the release and the settings before back, and ends the script.
go_back() {
  trap '' HUP INT TERM
  trap - EXIT
  echo "Cannot install \"$name\": $1; see journalctl -u $unit" >&2
  [ ! -e "$env_file.before" ] || mv -f "$env_file.before" "$env_file"
  if [ -z "$before" ]; then
    systemctl disable --quiet --now "$unit" || true
    rm -f "$home/current"
    exit 1
  fi
  point "$home/current" "$before"
  restart || true
  wait_for_health || fail 1 "Cannot roll \"$name\" back: the release before has no health either"
  fail 3 "Rolled \"$name\" back to ${before#releases/}, which is running"
}

# Removes releases other than the current and the previous one.
tidy() {
  for file in "$home"/releases/*; do
    kept=releases/${file##*/}
    [ "$kept" = "$(readlink "$home/current")" ] && continue
    [ "$kept" = "$(readlink "$home/previous" || true)" ] && continue
    rm -f "$file"
  done
}

rollback_service() {
  [ -L "$home/previous" ] ||
    fail 1 "Cannot roll \"$name\" back: there is no release before"
  [ -n "$dry_run" ] || lock
  from=$(readlink "$home/current")
  to=$(readlink "$home/previous")
  point "$home/current" "$to"
  point "$home/previous" "$from"
  restart || true
  [ -z "$dry_run" ] || return 0
  wait_for_health ||
    fail 1 "Cannot roll \"$name\" back: ${to#releases/} has no health; see journalctl -u $unit"
  echo "Rolled $name back to ${to#releases/}"
}

uninstall_service() {
  [ -n "$dry_run" ] || [ ! -d "$home" ] || lock
  run systemctl disable --quiet --now "$unit" || true
  run rm -rf "$home" "$cache"
  if [ -n "$purge" ]; then
    run rm -rf "$data" "$env_file" "$env_file.before"
    if [ -z "$root" ] && id "$user" >/dev/null 2>&1; then run userdel "$user"; fi
  fi
  # All installed services share the unit, so it is removed with the last one.
  if [ -z "$dry_run" ]; then
    rmdir "$root/opt/tercet" 2>/dev/null && rm -f "$units/tercet@.service"
  fi
  run systemctl daemon-reload
  if [ -n "$purge" ]; then echo "Removed $name and its data"
  else echo "Removed $name; its data stay in $data, its settings in $env_file"; fi
}

case $command in
install) install_service ;;
rollback) rollback_service ;;
uninstall) uninstall_service ;;
esac
