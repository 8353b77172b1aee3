import { exchange } from '../../torture/client.ts'
import { allPairs } from '../../torture/local-target.ts'
import { readStream } from '../../torture/read-responses.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'

const count = 240

const casesAt = ({ withDefaults }: RuntimeTarget): Case[] =>
  Array.from({ length: count }, (_, at): Case => {
    const pair = allPairs[at % allPairs.length] as (typeof allPairs)[number]
    const stream = Math.floor(at / allPairs.length) % 2 === 0
    const words = `word of number ${at} alone`
    return {
      name: `call ${at}, ${pair.client} from ${pair.upstream}`,
      async ask() {
        const answer = await exchange(withDefaults, { ...pair, text: `[[say:${words}]]`, stream })
        const text = stream ? readStream(pair.client, answer.text).text : answer.text
        return text.includes(words) ? undefined : `${answer.status} ${answer.broken ?? text.slice(0, 200)}`
      },
    }
  })

/** Calls must not share I/O objects: Workers forbid it strictly. */
export const many: Check = {
  name: 'at once',
  promise: `${count} calls, 60 at a time, all pairs of formats: each gets its own response`,
  async run(place) {
    place.providers.reset()
    return tallyOf(casesAt(place), 60)
  },
}
