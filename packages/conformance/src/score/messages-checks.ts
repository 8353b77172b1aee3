import type Anthropic from '@anthropic-ai/sdk'
import type { Check } from './check.ts'
import { given } from './context.ts'
import { shortPrompt } from './dialect.ts'
import { must, shown } from './expectations.ts'

const say = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }]
const room = 1024

/** The order of a stream’s events, each kind once in a row. */
const order = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
]

/** Checks of messages only. */
export const messagesChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves: 'Events come in the order that the format gives them, with the tokens of the question at the start.',
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
          must(typeof event.message.usage?.input_tokens === 'number', 'message_start does not count the question')
        if (event.type === 'message_delta')
          must(typeof event.usage?.output_tokens === 'number', 'message_delta does not count the answer')
      }
      must(types.join() === order.join(), `the events came as ${types.join(', ')}`)
    },
  },
  {
    feature: 'system blocks',
    proves: 'A system prompt in blocks is obeyed, with a mark for the prompt cache on it.',
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
      must(/pineapple/i.test(text), `the answer is ${shown(text)}, without pineapple`)
    },
  },
  {
    feature: 'stop sequence',
    proves: 'The answer names the sequence that it stopped at.',
    calls: 1,
    async run(context) {
      const { stop_sequence } = await context.anthropic.messages.create({
        model: context.model('messages'),
        max_tokens: room,
        stop_sequences: ['omega', 'gamma'],
        messages: say('Reply with exactly: alpha beta gamma delta'),
      })
      const why = `stop_sequence is ${shown(stop_sequence)}, not "gamma"`
      given(context, 'stop_sequences', stop_sequence === 'gamma', why)
    },
  },
  {
    feature: 'named tool',
    proves: 'Of two tools the one that is named is called.',
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
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${shown(names)}`)
    },
  },
  {
    feature: 'failed tool',
    proves: 'A result that is an error is taken back, and answered.',
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
      must(content.length > 0, 'the answer is empty')
    },
  },
]
