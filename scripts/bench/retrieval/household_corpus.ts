/**
 * The first development set: sentences about one household, made for this
 * project, with questions of five kinds. "words" share words with their answer,
 * "forms" only other forms of its words; "several" need more than one memory;
 * "crowd" have an answer among memories that share most of its words; "meaning"
 * share no word with their answer.
 *
 * @module
 */

import type { CorpusNamespace, CorpusQuestion } from "./corpus.ts";

/** Returns the household corpus. */
export function householdCorpus(): CorpusNamespace {
  return {
    name: "household",
    memories: MEMORIES.map((text, at) => ({ id: idOf(at + 1), text })),
    questions: QUESTIONS.map(([category, text, ...gold]): CorpusQuestion => ({
      category,
      text,
      gold: gold.map(idOf),
    })),
  };
}

function idOf(number: number): string {
  return `m${String(number).padStart(2, "0")}`;
}

/** The memories; questions refer to them by position, counted from 1. */
const MEMORIES: readonly string[] = [
  "Nora is allergic to hazelnuts and carries an injector in her bag.",
  "The spare key hangs behind the blue flower pot on the balcony.",
  "Nora's violin lesson moved from Tuesday to Thursday at five.",
  "Grandfather Iven was born in Trondheim on the second of March 1941.",
  "The dishwasher was repaired in June; the pump had been clogged with glass.",
  "Jonas runs the half marathon in Ghent every autumn with his brother.",
  "Our cat Pixel only eats salmon from the small tins.",
  "The wifi password of the summer cottage is written inside the fuse box.",
  "Jonas changed jobs and now designs bridges for the railway company.",
  "We planted two quince trees behind the garage last November.",
  "The insurance of the camper van has to be renewed before the first of May.",
  "Nora wants a telescope for her twelfth birthday.",
  "Aunt Selma sold her bakery and moved to Lisbon with her dog.",
  "The dentist, Doctor Okafor, asked Jonas to come back in six months.",
  "Mother's lemon cake needs four eggs, yogurt and the zest of three lemons.",
  "The boiler shows error E9 when the water pressure drops below one bar.",
  "Nora's best friend Mirela is moving to Vienna after the holidays.",
  "The neighbours, the Haddads, feed Pixel when we are travelling.",
  "Jonas cannot stand coriander, not even in soup.",
  "Our anniversary dinner was at the Greek restaurant near the harbour.",
  "The bicycle of Nora has a flat tyre; the tube is 24 inches.",
  "The tax adviser needs the receipts of the solar panels by February.",
  "Iven plays chess by mail with a friend in Buenos Aires.",
  "The library books about volcanoes are due on the ninth.",
  "Nora swam fifty metres without stopping and got the silver badge.",
  "We chose linden green for the kitchen wall and white for the ceiling.",
  "The vet gave Pixel drops against ear mites, twice a day for a week.",
  "Jonas keeps the drill in the cellar on the third shelf.",
  "Selma's dog is a grey greyhound called Bruno.",
  "The car needs winter tyres before we drive to the mountains.",
  "Mother started to learn Portuguese to visit Selma in spring.",
  "The school play is about a lighthouse; Nora plays the keeper.",
  "The heating in the cottage must stay at eight degrees in winter.",
  "Jonas owes Piet forty euros for the concert tickets.",
  "Iven's hearing aid takes batteries of size 312.",
  "The best cherries come from the stand by the old mill.",
  "Our tent leaks at the left seam and should be sealed with silicone.",
  "Nora reads under the blanket with the red torch.",
  "The plumber charges eighty euros an hour and comes on Mondays only.",
  "Pixel hides in the wardrobe during thunderstorms.",
  "We drove to Brittany in the camper van in August 2029.",
  "We drove to Slovenia in the camper van in August 2030.",
  "We flew to Iceland in September 2030 to see the northern lights.",
  "Mother's yoga class meets on Wednesday evenings in the old fire station.",
  "Jonas sings bass in the choir on Wednesday evenings.",
  "Nora goes to the climbing hall on Saturday mornings.",
  "Iven gets his blood pressure pills from the pharmacy at the market.",
  "Mother gets her migraine tablets from the pharmacy at the station.",
  "The red suitcase has a broken zip; the black one has a broken wheel.",
  "The red box in the attic holds the decorations for the tree.",
  "The blue box in the attic holds the letters of Grandmother Astrid.",
  "Nora's shoe size is 37 since the summer.",
  "Jonas's shoe size is 44, but 45 in running shoes.",
  "The guest room gets a new mattress, 140 by 200 centimetres.",
  "Mirela's parents, Dana and Luca, own the cinema in the old town.",
  "Luca lent us the projector for the garden party.",
  "Piet and Jonas built the shed out of the timber of the old pier.",
  "The hens of the Haddads lay eleven eggs a week.",
  "We bought the piano from a retired teacher for six hundred euros.",
  "The piano is to be tuned each October by Mister Albrecht.",
];

/**
 * The questions: kind, text, and the positions of the memories that answer it.
 */
const QUESTIONS: readonly (readonly [string, string, ...number[]])[] = [
  ["words", "What is Nora allergic to?", 1],
  ["words", "Where does the spare key hang?", 2],
  ["words", "Where is the wifi password of the cottage?", 8],
  ["words", "What does the boiler error E9 mean?", 16],
  ["words", "Which batteries does Iven's hearing aid take?", 35],
  ["words", "What is the school play about?", 32],
  ["words", "How much does the plumber charge?", 39],
  ["words", "Who gave Pixel drops against ear mites?", 27],
  ["words", "What colour is the kitchen wall?", 26],
  ["words", "When are the library books due?", 24],
  ["words", "How many eggs do the hens lay?", 58],
  ["words", "Which friend of Nora is moving to Vienna?", 17],
  ["forms", "Who was repairing the dishwashers?", 5],
  ["forms", "Which trees did we plant?", 10],
  ["forms", "When does the insurance need renewing?", 11],
  ["forms", "Who is learning Portuguese?", 31],
  ["forms", "How far can Nora swim?", 25],
  ["forms", "Is the tent leaking anywhere?", 37],
  ["forms", "Where is Pixel hiding when there is thunder?", 40],
  ["forms", "Who tunes our pianos?", 60],
  ["forms", "What is Jonas designing at his new job?", 9],
  ["forms", "Who feeds the cat while we travel?", 18],
  ["several", "What do we know about Selma's dog?", 13, 29],
  ["several", "What is broken or damaged of our suitcase and tent?", 49, 37],
  ["several", "What do Piet and Jonas have to do with each other?", 34, 57],
  ["several", "Who goes to the pharmacy and for what?", 47, 48],
  ["several", "What happens on Wednesday evenings?", 44, 45],
  ["several", "Where did we go in the camper van?", 41, 42],
  ["several", "What is kept in the boxes in the attic?", 50, 51],
  ["several", "Who are Mirela and her parents?", 17, 55],
  ["crowd", "Where did we drive in August 2029?", 41],
  ["crowd", "Where did we drive in August 2030?", 42],
  ["crowd", "Where did we fly in September?", 43],
  ["crowd", "What is Jonas's shoe size?", 53],
  ["crowd", "What is Nora's shoe size?", 52],
  ["crowd", "What holds the letters of Astrid?", 51],
  ["crowd", "Where does Iven get his pills?", 47],
  ["crowd", "What does Jonas do on Wednesday evenings?", 45],
  ["crowd", "What is wrong with the black suitcase?", 49],
  ["crowd", "What did we pay for the piano?", 59],
  ["meaning", "Which food could make my daughter ill?", 1],
  ["meaning", "How do I get in when I lost mine?", 2],
  ["meaning", "Any ideas for a child's present?", 12],
  ["meaning", "Which spice should I leave out for him?", 19],
  ["meaning", "Who looks after our pet during vacation?", 18],
  ["meaning", "What has to be done to the vehicle for snow?", 30],
  ["meaning", "Where can I find tools?", 28],
  ["meaning", "Which desserts can be baked with citrus?", 15],
];
