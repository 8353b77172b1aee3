import { objectOf } from '../base/json.ts'
import type { Conversation, ConversationResult } from '../sdks/conversation.ts'
import type { Context } from './context.ts'
import type { Dialect } from './dialect.ts'
import { formatValue, must } from './expectations.ts'
import { conversationIn, type Feature, requireThinking, sendThinkingRequest } from './features.ts'

const weather = 'What is the weather in Paris? Use the tool get_weather.'
const both = 'Call get_weather for Paris and get_time for Oslo, both at once, before you say anything.'
const results = { get_weather: [{ text: '18 degrees and sunny' }], get_time: [{ text: 'half past nine' }] }

/** Requires calls of exactly these tools, each with a city. */
function called({ tools, text }: ConversationResult, ...wanted: readonly string[]): void {
  const calls = tools.map(({ name }) => name).sort()
  must(
    calls.join() === [...wanted].sort().join(),
    `${calls.length === 0 ? `no tool was called; the text is ${formatValue(text)}` : `${calls.join(', ')} was called`}: expected ${wanted.join(' and ')}`,
  )
  for (const { name, input } of tools) {
    const { city } = objectOf(input)
    must(typeof city === 'string', `${name} was called with ${formatValue(input)}: expected a city`)
  }
}

function reported(text: ConversationResult, dialect: Dialect): void {
  must(text.text.includes('18'), `the text does not contain the tool result: ${formatValue(text.text)}`)
  must(
    text.finishReason === dialect.ends.stop,
    `the finish reason is ${formatValue(text.finishReason)}, expected ${formatValue(dialect.ends.stop)}`,
  )
}

async function loop(talk: Conversation, dialect: Dialect, question = weather): Promise<void> {
  const first = await talk.sendUserMessage({ text: question })
  called(first, 'get_weather')
  reported(await talk.sendToolResults(results), dialect)
}

const forced = (context: Context, dialect: Dialect, tools: readonly string[], stream = false): Conversation =>
  conversationIn(context, dialect)({ stream, tools, extra: dialect.fields.force })

/** Checks of tools. */
export const toolFeatures: readonly Feature[] = [
  {
    feature: 'tool',
    proves: 'A required tool is called with arguments that match its schema.',
    calls: 1,
    async run(context, dialect) {
      const text = await forced(context, dialect, ['get_weather']).sendUserMessage({ text: weather })
      called(text, 'get_weather')
      must(
        text.finishReason === dialect.ends.tools,
        `the finish reason is ${formatValue(text.finishReason)}, expected ${formatValue(dialect.ends.tools)}`,
      )
    },
  },
  {
    feature: 'no tool',
    proves: "With tool choice 'none', no tool is called.",
    calls: 1,
    async run(context, dialect) {
      const talk = conversationIn(context, dialect)({ tools: ['get_weather'], extra: dialect.fields.never })
      const text = await talk.sendUserMessage({
        text: 'What is the weather in Paris? Reply without a tool, in one sentence.',
      })
      must(text.tools.length === 0, `${text.tools.map(({ name }) => name).join(', ')} was called`)
      must(text.text !== '', 'the response has no text')
    },
  },
  {
    feature: 'parallel tools',
    proves: 'Two tools are called in one response, and both results are accepted.',
    calls: 2,
    async run(context, dialect) {
      const talk = conversationIn(context, dialect)({ tools: ['get_weather', 'get_time'] })
      called(await talk.sendUserMessage({ text: both }), 'get_weather', 'get_time')
      reported(await talk.sendToolResults(results), dialect)
    },
  },
  {
    feature: 'tool result',
    proves: 'The model uses a tool’s result in its response.',
    calls: 2,
    run: (context, dialect) => loop(conversationIn(context, dialect)({ tools: ['get_weather'] }), dialect),
  },
  {
    feature: 'streamed tool',
    proves: 'Streamed tool arguments form valid JSON.',
    calls: 1,
    async run(context, dialect) {
      const text = await forced(context, dialect, ['get_weather'], true).sendUserMessage({ text: weather })
      called(text, 'get_weather')
      must(
        text.finishReason === dialect.ends.tools,
        `the finish reason is ${formatValue(text.finishReason)}, expected ${formatValue(dialect.ends.tools)}`,
      )
    },
  },
  {
    feature: 'streamed tool loop',
    proves: 'The SDK’s accumulated tool call can be sent back with its result.',
    calls: 2,
    run: (context, dialect) =>
      loop(conversationIn(context, dialect)({ tools: ['get_weather'], stream: true }), dialect),
  },
  {
    feature: 'thinking with tools',
    proves: 'Thinking before a tool call, with its signature, is accepted back with the tool result.',
    calls: 4,
    async run(context, dialect) {
      const { talk, result } = await sendThinkingRequest(context, dialect, ['get_weather'], weather)
      called(result, 'get_weather')
      requireThinking(result)
      reported(await talk.sendToolResults(results), dialect)
    },
  },
]
