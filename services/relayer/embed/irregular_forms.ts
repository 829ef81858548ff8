/**
 * Forms of English words that no ending tells: verbs in the past, and nouns in
 * the plural. Forms that are words of their own as well, such as "saw", "left",
 * "felt", "found" (founded), "lay" and "wound", are left out where the other
 * word is as common.
 *
 * @module
 */

/** A line for each word: its base, then its forms. */
const FORMS = `
arise arose arisen
awake awoke awoken
bear bore borne
beat beaten
become became
begin began begun
bend bent
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
cling clung
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lead led
learn learnt
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
sting stung
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weep wept
win won
write wrote written
child children
foot feet
goose geese
mouse mice
tooth teeth
man men
woman women
person people
knife knives
life lives
wife wives
leaf leaves
shelf shelves
wolf wolves
half halves
`;

/** The base of each form. */
export const BASES: ReadonlyMap<string, string> = new Map(
  FORMS.trim().split("\n").flatMap((line) => {
    const [base = "", ...forms] = line.split(" ");
    return forms.map((form): [string, string] => [form, base]);
  }),
);
