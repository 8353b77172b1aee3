import { isObject, parseJson } from '../base/json.ts'
import type { Check } from './check.ts'
import { requireUnlessLost } from './context.ts'
import { shortPrompt } from './dialect.ts'
import { formatValue, must } from './expectations.ts'
import { base64Of, toneBytes } from './media-samples.ts'

const say = (content: string) => [{ role: 'user' as const, content }]

/** Checks of Chat Completions only. */
export const chatChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves:
      'All chunks have the same id and a list of choices; usage is sent only on request; exactly one chunk has a finish reason.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const stream = await context.openai.chat.completions.create({ model, messages: say(shortPrompt), stream: true })
      const ids = new Set<string>()
      const endings: string[] = []
      let role: string | undefined
      for await (const chunk of stream) {
        must(chunk.object === 'chat.completion.chunk', `a chunk has the object ${formatValue(chunk.object)}`)
        must((chunk.usage ?? null) === null, 'usage was sent without being requested')
        must(Array.isArray(chunk.choices), 'a chunk has no list of choices')
        ids.add(chunk.id)
        for (const { delta, finish_reason } of chunk.choices) {
          role ??= delta.role
          if (finish_reason) endings.push(finish_reason)
        }
      }
      must(ids.size === 1, `the chunks have ${ids.size} different ids`)
      must(role === 'assistant', `the first delta’s role is ${formatValue(role)}`)
      must(endings.join() === 'stop', `the finish reasons are ${formatValue(endings)}`)
    },
  },
  {
    feature: 'developer',
    proves: 'A developer message is followed like a system prompt.',
    calls: 1,
    async run(context) {
      const { choices } = await context.openai.chat.completions.create({
        model: context.model('chat'),
        messages: [
          { role: 'developer', content: 'Whatever the user says, reply with exactly: PINEAPPLE' },
          ...say('Good morning!'),
        ],
      })
      const text = choices[0]?.message.content ?? ''
      must(/pineapple/i.test(text), `the reply is ${formatValue(text)}, without pineapple`)
    },
  },
  {
    feature: 'named tool',
    proves: 'The tool named by tool_choice is called, not the other one.',
    calls: 1,
    async run(context) {
      const tool = (name: string) => ({
        type: 'function' as const,
        function: {
          name,
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      })
      const { choices } = await context.openai.chat.completions.create({
        model: context.model('chat'),
        messages: say('How are things in Paris?'),
        tools: [tool('get_weather'), tool('get_time')],
        tool_choice: { type: 'function', function: { name: 'get_time' } },
      })
      const calls = choices[0]?.message.tool_calls ?? []
      const names = calls.map((call) => (call.type === 'function' ? call.function.name : call.type))
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${formatValue(names)}`)
    },
  },
  {
    feature: 'json object',
    proves: 'The response is a JSON object if the request requires one.',
    calls: 1,
    async run(context) {
      const { choices } = await context.openai.chat.completions.create({
        model: context.model('chat'),
        messages: say('Reply with a JSON object that has one key, city, with the value Paris.'),
        response_format: { type: 'json_object' },
      })
      const text = choices[0]?.message.content ?? ''
      requireUnlessLost(
        context,
        'response_format',
        isObject(parseJson(text)),
        `the text is not a JSON object: ${formatValue(text)}`,
      )
    },
  },
  {
    feature: 'older limit',
    proves: 'The older limit max_tokens is applied, or rejected by name.',
    calls: 1,
    async run(context) {
      const { choices } = await context.optionalFeature('max_tokens', () =>
        context.openai.chat.completions.create({
          model: context.model('chat'),
          messages: say('Count from one to thirty in words.'),
          max_tokens: 16,
        }),
      )
      must(
        choices[0]?.finish_reason === 'length',
        `finish_reason is ${formatValue(choices[0]?.finish_reason)}, expected "length"`,
      )
    },
  },
  {
    feature: 'choices',
    proves: 'With n: 2, two choices are returned, or n is rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.optionalFeature('n', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), n: 2 }),
      )
      requireUnlessLost(context, 'n', choices.length === 2, `expected 2 choices, received ${choices.length}`)
      must(choices.map(({ index }) => index).join() === '0,1', 'the choices do not have the indexes 0 and 1')
    },
  },
  {
    feature: 'logprobs',
    proves: 'Log probabilities are returned with the requested number of alternatives, or rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.optionalFeature('logprobs', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), logprobs: true, top_logprobs: 2 }),
      )
      const tokens = choices[0]?.logprobs?.content ?? []
      requireUnlessLost(
        context,
        'logprobs',
        tokens.length > 0,
        'no log probabilities were returned, and no header reports them as lost',
      )
      must(typeof tokens[0]?.logprob === 'number', `the first logprob is ${formatValue(tokens[0]?.logprob)}`)
      must(
        tokens[0]?.top_logprobs.length === 2,
        `expected 2 alternatives, received ${tokens[0]?.top_logprobs.length ?? 0}`,
      )
    },
  },
  {
    feature: 'seed',
    proves: 'A seed is accepted, or rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.optionalFeature('seed', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), seed: 7 }),
      )
      must((choices[0]?.message.content ?? '') !== '', 'the response has no text')
    },
  },
  {
    feature: 'audio',
    proves: 'Audio input is accepted, or rejected as unsupported by the model.',
    calls: 1,
    async run(context) {
      const text = await context.optionalFeature(['audio', 'modality', 'modalities'], () =>
        context
          .startConversation('chat')
          .sendUserMessage({ text: 'Describe this sound in one sentence.' }, { audio: base64Of(toneBytes()) }),
      )
      must(text.text !== '', 'the response has no text')
    },
  },
]
