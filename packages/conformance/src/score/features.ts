import { numberOf, objectOf, parseJson } from '../base/json.ts'
import type { Said, Talk } from '../sdks/conversation.ts'
import type { Check } from './check.ts'
import { type Context, given } from './context.ts'
import { type Dialect, shortPrompt } from './dialect.ts'
import { must, shown } from './expectations.ts'
import { pdfOf, redPicture } from './media-samples.ts'
import { jsonOf, names, refusalOf } from './rejection.ts'

/** A check that every format has, once told in which words. */
export type Feature = Omit<Check, 'format' | 'run'> & {
  /** The formats that have it. Default: all. */
  readonly in?: (dialect: Dialect) => boolean
  run(context: Context, dialect: Dialect): Promise<void>
}

/** Answers have room: models that think before they speak need some. */
const room = 2048
export const talkIn =
  (context: Context, { format, wantsLimit }: Dialect) =>
  (manner: Parameters<Context['talk']>[1] & object) =>
    context.talk(format, wantsLimit === true ? { most: room, ...manner } : manner)

function ended(said: Said, wanted: string): void {
  must(said.end === wanted, `the answer ends with ${shown(said.end)}, not ${shown(wanted)}`)
}

const says = (said: Said, pattern: RegExp): void =>
  must(pattern.test(said.text), `the answer is ${shown(said.text)}, without ${pattern.source}`)

const counting = 'Count from one to thirty in words, separated by commas.'

/** Checks of text and media. */
export const talking: readonly Feature[] = [
  {
    feature: 'text',
    proves: 'A question is answered with text, an ending and the name of a model.',
    calls: 1,
    door: true,
    async run(context, dialect) {
      const said = await talkIn(context, dialect)({}).ask({ text: shortPrompt })
      must(said.text !== '', 'the answer has no text')
      must(said.model !== '', 'the answer names no model')
      ended(said, dialect.ends.stop)
    },
  },
  {
    feature: 'usage',
    proves: 'An answer counts the tokens of question and answer.',
    calls: 1,
    async run(context, dialect) {
      counted(await talkIn(context, dialect)({}).ask({ text: shortPrompt }))
    },
  },
  {
    feature: 'system',
    proves: 'A system prompt is obeyed.',
    calls: 1,
    async run(context, dialect) {
      const system = 'Whatever the user says, reply with exactly: PINEAPPLE'
      says(await talkIn(context, dialect)({ system }).ask({ text: 'Good morning!' }), /pineapple/i)
    },
  },
  {
    feature: 'turns',
    proves: 'What was said in an earlier turn is known in a later one.',
    calls: 2,
    async run(context, dialect) {
      const talk = talkIn(context, dialect)({})
      await talk.ask({ text: 'The code word is MANGO. Reply with exactly: noted' })
      says(await talk.ask({ text: 'What is the code word? Reply with that word alone.' }), /mango/i)
    },
  },
  {
    feature: 'stream',
    proves: 'A stream comes in several pieces, which the SDK’s own accumulator joins to an answer with an ending.',
    calls: 1,
    async run(context, dialect) {
      const said = await talkIn(context, dialect)({ stream: true }).ask({ text: counting })
      must(said.text !== '', 'the stream has no text')
      must(said.pieces > 1, 'the text came in one piece: that is no stream')
      ended(said, dialect.ends.stop)
    },
  },
  {
    feature: 'stream usage',
    proves: 'A stream says at its end what was used.',
    calls: 1,
    async run(context, dialect) {
      counted(await talkIn(context, dialect)({ stream: true }).ask({ text: shortPrompt }))
    },
  },
  {
    feature: 'unicode',
    proves: 'Letters of more than one byte and emoji come through a stream unharmed.',
    calls: 1,
    async run(context, dialect) {
      const words = 'Grüße, 世界 🙂'
      const said = await talkIn(context, dialect)({ stream: true }).ask({ text: `Reply with exactly: ${words}` })
      must(said.text.includes(words), `the answer is ${shown(said.text)}, not ${shown(words)}`)
    },
  },
  {
    feature: 'stop',
    in: ({ ends }) => ends.sequence !== undefined,
    proves: 'The model stops at a stop sequence, and the answer ends before it.',
    calls: 1,
    async run(context, dialect) {
      const { fields, ends } = dialect
      const extra = fields.stop('gamma')
      const said = await context.gift(fields.stopName, () =>
        talkIn(context, dialect)({ extra }).ask({ text: 'Reply with exactly: alpha beta gamma delta' }),
      )
      says(said, /alpha beta/i)
      given(context, fields.stopName, !/gamma|delta/i.test(said.text), `the answer went on: ${shown(said.text)}`)
      must([ends.stop, ends.sequence].includes(said.end), `the answer ends with ${shown(said.end)}`)
    },
  },
  {
    feature: 'limit',
    proves: 'A limit of tokens is kept, and the ending says that it was the limit.',
    calls: 1,
    async run(context, dialect) {
      const most = 20
      const said = await talkIn(context, dialect)({ most }).ask({ text: counting })
      ended(said, dialect.ends.length)
      const { output = 0 } = said.usage ?? {}
      must(output <= most, `${output} tokens came, though ${most} were the limit`)
    },
  },
  {
    feature: 'sampling',
    proves: 'Fields of sampling are taken, or refused by name.',
    calls: 1,
    async run(context, dialect) {
      const { sampling, samplingNames } = dialect.fields
      const said = await context.gift(samplingNames, () =>
        talkIn(context, dialect)({ extra: sampling }).ask({ text: shortPrompt }),
      )
      must(said.text !== '', 'the answer has no text')
    },
  },
  {
    feature: 'schema',
    proves: 'An answer keeps to a JSON schema.',
    calls: 1,
    async run(context, dialect) {
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' }, population: { type: 'integer' } },
        required: ['city', 'population'],
        additionalProperties: false,
      }
      const extra = dialect.fields.schema(schema)
      const said = await talkIn(context, dialect)({ extra }).ask({ text: 'Tell me about the city of Paris, as JSON.' })
      const value = parseJson(said.text)
      must(value !== undefined, `the answer is no JSON: ${shown(said.text)}`)
      const { city, population } = objectOf(value)
      must(typeof city === 'string', `'city' is ${shown(city)}, not a text`)
      must(Number.isInteger(population), `'population' is ${shown(population)}, not a whole number`)
    },
  },
  {
    feature: 'image',
    proves: 'The model sees a picture.',
    calls: 1,
    async run(context, dialect) {
      const text = 'What colour is this picture? Reply with one word: red, green, blue or yellow.'
      const said = await talkIn(context, dialect)({}).ask({ text }, { image: redPicture })
      says(said, /\bred\b/i)
      must(!/green|blue|yellow/i.test(said.text), `the answer names more than one colour: ${shown(said.text)}`)
    },
  },
  {
    feature: 'pdf',
    proves: 'The model reads a PDF.',
    calls: 1,
    async run(context, dialect) {
      const pdf = pdfOf('The code word is PAPAYA.')
      const text = 'What is the code word in this document? Reply with that word alone.'
      says(await talkIn(context, dialect)({}).ask({ text }, { pdf }), /papaya/i)
    },
  },
  {
    feature: 'thinking',
    proves: 'A model that is asked to think does so: thoughts are shown or counted.',
    calls: 2,
    async run(context, dialect) {
      thought((await thinking(context, dialect, [], 'Is 91 a prime number? Think first.')).said)
    },
  },
  {
    feature: 'cache',
    in: ({ cacheDetail }) => cacheDetail !== undefined,
    proves: 'The usage says how much of the question came from the prompt cache.',
    calls: 1,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      const answer = await context.post(dialect.format, dialect.path(model), dialect.body(model))
      const detail = dialect.cacheDetail?.(objectOf(await jsonOf(answer)))
      must(numberOf(detail) !== undefined, `the detail of the usage is ${shown(detail)}, not a number`)
    },
  },
]

function counted({ usage }: Said): void {
  must(usage !== undefined, 'no usage came')
  must(usage.input > 0, `the question counts as ${usage.input} tokens`)
  must(usage.output > 0, `the answer counts as ${usage.output} tokens`)
}

export function thought({ usage, reasoning }: Said): void {
  must((usage?.reasoning ?? 0) > 0 || reasoning !== '', 'no thought was shown or counted')
}

/** Asks a model that thinks a little, in the first way that is not refused. What comes behind the first answer is no gift. */
export async function thinking(
  context: Context,
  dialect: Dialect,
  tools: readonly string[],
  text: string,
): Promise<{ readonly talk: Talk; readonly said: Said }> {
  const { think, thinkNames } = dialect.fields
  return context.gift(thinkNames, async () => {
    let refused: unknown
    for (const extra of think) {
      const talk = talkIn(context, dialect)({ most: room, ...(tools.length > 0 ? { tools } : {}), extra })
      try {
        return { talk, said: await talk.ask({ text }) }
      } catch (error) {
        const refusal = refusalOf(error)
        if (refusal === undefined || !thinkNames.some((name) => names(refusal, name))) throw error
        refused ??= error
      }
    }
    throw refused
  })
}
