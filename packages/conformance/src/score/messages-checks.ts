import type Anthropic from '@anthropic-ai/sdk'
import type { Check } from './check.ts'
import { requireUnlessLost } from './context.ts'
import { shortPrompt } from './dialect.ts'
import { formatValue, must } from './expectations.ts'

const say = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }]
const room = 1024

/** Required order of a stream's events, repetitions collapsed. */
const order = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
]

/** Checks of Messages only. */
export const messagesChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves: 'Events arrive in the format’s order, with the input tokens at the start.',
    calls: 1,
    async run(context) {
      const stream = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        messages: say(shortPrompt),
        stream: true,
      })
      const types: string[] = []
      for await (const event of stream) {
        if (types.at(-1) !== event.type) types.push(event.type)
        if (event.type === 'message_start')
          must(typeof event.message.usage?.input_tokens === 'number', 'message_start does not count the input tokens')
        if (event.type === 'message_delta')
          must(typeof event.usage?.output_tokens === 'number', 'message_delta does not count the output tokens')
      }
      must(types.join() === order.join(), `the order of events is ${types.join(', ')}`)
    },
  },
  {
    feature: 'system blocks',
    proves: 'A system prompt of several blocks with a cache breakpoint is followed.',
    calls: 1,
    async run(context) {
      const { content } = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        system: [
          { type: 'text', text: 'You are terse.' },
          {
            type: 'text',
            text: 'Whatever the user says, reply with exactly: PINEAPPLE',
            cache_control: { type: 'ephemeral' },
          },
        ],
        messages: say('Good morning!'),
      })
      const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      must(/pineapple/i.test(text), `the text is ${formatValue(text)}, expected pineapple`)
    },
  },
  {
    feature: 'stop sequence',
    proves: 'The response names the stop sequence that ended it.',
    calls: 1,
    async run(context) {
      const { stop_sequence } = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        stop_sequences: ['omega', 'gamma'],
        messages: say('Reply with exactly: alpha beta gamma delta'),
      })
      const why = `stop_sequence is ${formatValue(stop_sequence)}, expected "gamma"`
      requireUnlessLost(context, 'stop_sequences', stop_sequence === 'gamma', why)
    },
  },
  {
    feature: 'named tool',
    proves: 'The tool named by tool_choice is called, not the other one.',
    calls: 1,
    async run(context) {
      const tool = (name: string): Anthropic.Tool => ({
        name,
        input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      })
      const { content } = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        messages: say('How are things in Paris?'),
        tools: [tool('get_weather'), tool('get_time')],
        tool_choice: { type: 'tool', name: 'get_time' },
      })
      const names = content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []))
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${formatValue(names)}`)
    },
  },
  {
    feature: 'failed tool',
    proves: 'A tool result with is_error is accepted.',
    calls: 1,
    async run(context) {
      const { content } = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }],
        messages: [
          ...say('What is the weather in Paris?'),
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'toolu_conformance01', name: 'get_weather', input: { city: 'Paris' } }],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toolu_conformance01', is_error: true, content: 'No connection.' },
            ],
          },
        ],
      })
      must(content.length > 0, 'the response is empty')
    },
  },
]
