#!/usr/bin/env bash
# Runs one of two PostgreSQL servers, of which PRIMARY names the primary; the
# other one is its standby. SERVER is this server, OTHER the other one, and
# PGDATA a folder that is kept. ROLE is the role of the instances and the name of
# their database, and ROLE_PASSWORD its password. The arguments go to postgres.
#
# At its first start the primary makes the database and the roles, and the
# standby copies the primary. A server refuses to be a second primary.
set -euo pipefail

data=$PGDATA/main
new=$PGDATA/new
# For the copy, and later for the standby's own connection.
export PGPASSWORD=$REPLICATION_PASSWORD

refuse() {
  echo "Cannot start $SERVER as $1" >&2
  exit 1
}

# Prints t when the other server is a primary, f when it is a standby, and
# nothing when it does not answer.
ask_other() {
  PGCONNECT_TIMEOUT=3 psql --no-psqlrc --tuples-only --no-align \
    --host "$OTHER" --username replicator --dbname postgres \
    --command 'select not pg_is_in_recovery()' 2>/dev/null || true
}

make_primary() {
  # The user of this process, and nobody over the network, is the superuser.
  initdb --pgdata "$new" --encoding UTF8 --locale C.UTF-8 --data-checksums \
    --auth-local peer --auth-host reject
  cat >"$new/pg_hba.conf" <<'HBA'
local all all peer
host all all all scram-sha-256
host replication replicator all scram-sha-256
HBA
  # Nobody but this script may connect yet, and no commit waits for a standby.
  local sockets
  sockets=$(mktemp --directory)
  pg_ctl --pgdata "$new" --wait --log "$new/first_start" --options \
    "-c listen_addresses='' -c unix_socket_directories='$sockets'" start
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --host "$sockets" \
    --dbname postgres <<'SQL'
\getenv role ROLE
\getenv role_password ROLE_PASSWORD
\getenv replication_password REPLICATION_PASSWORD
create role replicator login replication password :'replication_password';
create role :"role" login password :'role_password';
-- To see the standbys, which DURABILITY=replicated needs.
grant pg_read_all_stats to :"role";
create database :"role" owner :"role";
SQL
  pg_ctl --pgdata "$new" --wait --mode fast stop
  rm -r "$new/first_start" "$sockets"
}

make_standby() {
  until pg_isready --quiet --host "$PRIMARY"; do sleep 1; done
  # A slot of an earlier life may have lost what it was kept for.
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --output /dev/null \
    --host "$PRIMARY" --username replicator --dbname postgres \
    --set slot="$SERVER" <<'SQL'
select pg_drop_replication_slot(slot_name) from pg_replication_slots
  where slot_name = :'slot';
select pg_create_physical_replication_slot(:'slot');
SQL
  pg_basebackup --pgdata "$new" --host "$PRIMARY" --username replicator \
    --slot "$SERVER" --wal-method stream --checkpoint fast
  touch "$new/standby.signal"
}

if [ ! -d "$data" ]; then
  # What an interrupted first start has left.
  rm -rf "$new"
  if [ "$SERVER" != "$PRIMARY" ]; then
    make_standby
  elif [ -z "$(ask_other)" ]; then
    make_primary
  else
    refuse "an empty primary: $OTHER has data. Promote $OTHER, and name it in POSTGRES_PRIMARY"
  fi
  mv "$new" "$data"
elif [ ! -e "$data/standby.signal" ]; then
  if [ "$SERVER" != "$PRIMARY" ]; then
    refuse "a standby: its data are of a primary. Remove its volume, and it copies $PRIMARY"
  elif [ "$(ask_other)" = t ]; then
    refuse "the primary: $OTHER is one. Name $OTHER in POSTGRES_PRIMARY, and remove the volume of $SERVER"
  fi
fi

exec postgres -D "$data" \
  -c "primary_conninfo=host=$PRIMARY user=replicator application_name=$SERVER" \
  -c "primary_slot_name=$SERVER" "$@"
