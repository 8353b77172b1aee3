import { numberOf, objectOf, parseJson } from '../base/json.ts'
import type { Conversation, ConversationResult } from '../sdks/conversation.ts'
import type { Check } from './check.ts'
import { type Context, requireUnlessLost } from './context.ts'
import { type Dialect, shortPrompt } from './dialect.ts'
import { formatValue, must } from './expectations.ts'
import { pdfOf, redPicture } from './media-samples.ts'
import { jsonOf, namesField, rejectionOf } from './rejection.ts'

/** A check that every format implements, parameterised by the format's dialect. */
export type Feature = Omit<Check, 'format' | 'run'> & {
  /** Selects the formats that have this feature. Default: all. */
  readonly in?: (dialect: Dialect) => boolean
  run(context: Context, dialect: Dialect): Promise<void>
}

/** Token limit with room for models that think before the response. */
const room = 2048
export const conversationIn =
  (context: Context, { format, wantsLimit }: Dialect) =>
  (manner: Parameters<Context['startConversation']>[1] & object) =>
    context.startConversation(format, wantsLimit === true ? { tokenLimit: room, ...manner } : manner)

function ended(text: ConversationResult, wanted: string): void {
  must(
    text.finishReason === wanted,
    `the finish reason is ${formatValue(text.finishReason)}, expected ${formatValue(wanted)}`,
  )
}

const says = (text: ConversationResult, pattern: RegExp): void =>
  must(pattern.test(text.text), `the text is ${formatValue(text.text)}, expected a match of ${pattern.source}`)

const counting = 'Count from one to thirty in words, separated by commas.'

/** Checks of text and media. */
export const textFeatures: readonly Feature[] = [
  {
    feature: 'text',
    proves: 'A response has text, a finish reason and a model name.',
    calls: 1,
    isEntry: true,
    async run(context, dialect) {
      const text = await conversationIn(context, dialect)({}).sendUserMessage({ text: shortPrompt })
      must(text.text !== '', 'the response has no text')
      must(text.model !== '', 'the response has no model name')
      ended(text, dialect.ends.stop)
    },
  },
  {
    feature: 'usage',
    proves: 'Usage counts input and output tokens.',
    calls: 1,
    async run(context, dialect) {
      counted(await conversationIn(context, dialect)({}).sendUserMessage({ text: shortPrompt }))
    },
  },
  {
    feature: 'system',
    proves: 'The model follows the system prompt.',
    calls: 1,
    async run(context, dialect) {
      const system = 'Whatever the user says, reply with exactly: PINEAPPLE'
      says(await conversationIn(context, dialect)({ system }).sendUserMessage({ text: 'Good morning!' }), /pineapple/i)
    },
  },
  {
    feature: 'turns',
    proves: 'The model remembers an earlier turn of the conversation.',
    calls: 2,
    async run(context, dialect) {
      const talk = conversationIn(context, dialect)({})
      await talk.sendUserMessage({ text: 'The code word is MANGO. Reply with exactly: noted' })
      says(await talk.sendUserMessage({ text: 'What is the code word? Reply with that word alone.' }), /mango/i)
    },
  },
  {
    feature: 'stream',
    proves: 'A stream arrives in several chunks, which the SDK accumulates to a response with a finish reason.',
    calls: 1,
    async run(context, dialect) {
      const text = await conversationIn(context, dialect)({ stream: true }).sendUserMessage({ text: counting })
      must(text.text !== '', 'the stream has no text')
      must(text.pieces > 1, 'the text arrived in one chunk: this is not a stream')
      ended(text, dialect.ends.stop)
    },
  },
  {
    feature: 'stream usage',
    proves: 'A stream reports usage at its end.',
    calls: 1,
    async run(context, dialect) {
      counted(await conversationIn(context, dialect)({ stream: true }).sendUserMessage({ text: shortPrompt }))
    },
  },
  {
    feature: 'unicode',
    proves: 'Multi-byte characters and emoji survive streaming.',
    calls: 1,
    async run(context, dialect) {
      const words = 'Grüße, 世界 🙂'
      const text = await conversationIn(
        context,
        dialect,
      )({ stream: true }).sendUserMessage({ text: `Reply with exactly: ${words}` })
      must(text.text.includes(words), `the text is ${formatValue(text.text)}, expected ${formatValue(words)}`)
    },
  },
  {
    feature: 'stop',
    in: ({ ends }) => ends.sequence !== undefined,
    proves: 'The model stops at a stop sequence, and the text ends before it.',
    calls: 1,
    async run(context, dialect) {
      const { fields, ends } = dialect
      const extra = fields.stop('gamma')
      const text = await context.optionalFeature(fields.stopName, () =>
        conversationIn(
          context,
          dialect,
        )({ extra }).sendUserMessage({ text: 'Reply with exactly: alpha beta gamma delta' }),
      )
      says(text, /alpha beta/i)
      requireUnlessLost(
        context,
        fields.stopName,
        !/gamma|delta/i.test(text.text),
        `the text continues after the stop sequence: ${formatValue(text.text)}`,
      )
      must(
        [ends.stop, ends.sequence].includes(text.finishReason),
        `the finish reason is ${formatValue(text.finishReason)}`,
      )
    },
  },
  {
    feature: 'limit',
    proves: 'A token limit is enforced and reported as the finish reason.',
    calls: 1,
    async run(context, dialect) {
      const most = 20
      const text = await conversationIn(context, dialect)({ tokenLimit: most }).sendUserMessage({ text: counting })
      ended(text, dialect.ends.length)
      const { output = 0 } = text.usage ?? {}
      must(output <= most, `received ${output} tokens with a limit of ${most}`)
    },
  },
  {
    feature: 'sampling',
    proves: 'Sampling fields are accepted, or rejected by name.',
    calls: 1,
    async run(context, dialect) {
      const { sampling, samplingNames } = dialect.fields
      const text = await context.optionalFeature(samplingNames, () =>
        conversationIn(context, dialect)({ extra: sampling }).sendUserMessage({ text: shortPrompt }),
      )
      must(text.text !== '', 'the response has no text')
    },
  },
  {
    feature: 'schema',
    proves: 'The response conforms to a JSON schema.',
    calls: 1,
    async run(context, dialect) {
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' }, population: { type: 'integer' } },
        required: ['city', 'population'],
        additionalProperties: false,
      }
      const extra = dialect.fields.schema(schema)
      const text = await conversationIn(
        context,
        dialect,
      )({ extra }).sendUserMessage({ text: 'Tell me about the city of Paris, as JSON.' })
      const value = parseJson(text.text)
      must(value !== undefined, `the text is not JSON: ${formatValue(text.text)}`)
      const { city, population } = objectOf(value)
      must(typeof city === 'string', `'city' is ${formatValue(city)}, expected a string`)
      must(Number.isInteger(population), `'population' is ${formatValue(population)}, expected an integer`)
    },
  },
  {
    feature: 'image',
    proves: 'The model understands an image.',
    calls: 1,
    async run(context, dialect) {
      const text = 'What colour is this picture? Reply with one word: red, green, blue or yellow.'
      const output = await conversationIn(context, dialect)({}).sendUserMessage({ text }, { image: redPicture })
      says(output, /\bred\b/i)
      must(!/green|blue|yellow/i.test(output.text), `the text names more than one colour: ${formatValue(output.text)}`)
    },
  },
  {
    feature: 'pdf',
    proves: 'The model reads a PDF.',
    calls: 1,
    async run(context, dialect) {
      const pdf = pdfOf('The code word is PAPAYA.')
      const text = 'What is the code word in this document? Reply with that word alone.'
      says(await conversationIn(context, dialect)({}).sendUserMessage({ text }, { pdf }), /papaya/i)
    },
  },
  {
    feature: 'thinking',
    proves: 'A thinking model returns its thoughts or counts their tokens.',
    calls: 2,
    async run(context, dialect) {
      requireThinking((await sendThinkingRequest(context, dialect, [], 'Is 91 a prime number? Think first.')).result)
    },
  },
  {
    feature: 'cache',
    in: ({ cacheDetail }) => cacheDetail !== undefined,
    proves: 'Usage reports the number of cached input tokens.',
    calls: 1,
    async run(context, dialect) {
      const model = context.model(dialect.format)
      const answer = await context.post(dialect.format, dialect.path(model), dialect.body(model))
      const detail = dialect.cacheDetail?.(objectOf(await jsonOf(answer)))
      must(numberOf(detail) !== undefined, `the usage detail is ${formatValue(detail)}, expected a number`)
    },
  },
]

function counted({ usage }: ConversationResult): void {
  must(usage !== undefined, 'the response has no usage')
  must(usage.input > 0, `usage reports ${usage.input} input tokens`)
  must(usage.output > 0, `usage reports ${usage.output} output tokens`)
}

export function requireThinking({ usage, reasoning }: ConversationResult): void {
  must((usage?.reasoning ?? 0) > 0 || reasoning !== '', 'thinking was neither returned nor counted')
}

/**
 * Sends a request with a little thinking, in the first way that the server accepts. Only this first response may be not
 * served; later failures count.
 */
export async function sendThinkingRequest(
  context: Context,
  dialect: Dialect,
  tools: readonly string[],
  text: string,
): Promise<{ readonly talk: Conversation; readonly result: ConversationResult }> {
  const { think, thinkNames } = dialect.fields
  return context.optionalFeature(thinkNames, async () => {
    let refused: unknown
    for (const extra of think) {
      const talk = conversationIn(context, dialect)({ tokenLimit: room, ...(tools.length > 0 ? { tools } : {}), extra })
      try {
        return { talk, result: await talk.sendUserMessage({ text }) }
      } catch (error) {
        const refusal = rejectionOf(error)
        if (refusal === undefined || !thinkNames.some((name) => namesField(refusal, name))) throw error
        refused ??= error
      }
    }
    throw refused
  })
}
