import { isObject, parseJson } from '../base/json.ts'
import type { Check } from './check.ts'
import { given } from './context.ts'
import { shortPrompt } from './dialect.ts'
import { must, shown } from './expectations.ts'
import { base64Of, toneBytes } from './media-samples.ts'

const say = (content: string) => [{ role: 'user' as const, content }]

/** Checks of chat only. */
export const chatChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves:
      'Chunks are of one answer, each with its choices; usage comes only if it was asked for, and one chunk ends it.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const stream = await context.openai.chat.completions.create({ model, messages: say(shortPrompt), stream: true })
      const ids = new Set<string>()
      const endings: string[] = []
      let role: string | undefined
      for await (const chunk of stream) {
        must(chunk.object === 'chat.completion.chunk', `a chunk is of the object ${shown(chunk.object)}`)
        must((chunk.usage ?? null) === null, 'usage came, though nobody asked for it')
        must(Array.isArray(chunk.choices), 'a chunk has no list of choices')
        ids.add(chunk.id)
        for (const { delta, finish_reason } of chunk.choices) {
          role ??= delta.role
          if (finish_reason) endings.push(finish_reason)
        }
      }
      must(ids.size === 1, `the chunks have ${ids.size} different ids`)
      must(role === 'assistant', `the first delta’s role is ${shown(role)}`)
      must(endings.join() === 'stop', `the endings are ${shown(endings)}`)
    },
  },
  {
    feature: 'developer',
    proves: 'The developer’s message is obeyed as a system prompt is.',
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
      must(/pineapple/i.test(text), `the answer is ${shown(text)}, without pineapple`)
    },
  },
  {
    feature: 'named tool',
    proves: 'Of two tools the one that is named is called.',
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
      must(names.length > 0 && names.every((name) => name === 'get_time'), `called were ${shown(names)}`)
    },
  },
  {
    feature: 'json object',
    proves: 'An answer is JSON where a JSON object was asked for.',
    calls: 1,
    async run(context) {
      const { choices } = await context.openai.chat.completions.create({
        model: context.model('chat'),
        messages: say('Reply with a JSON object that has one key, city, with the value Paris.'),
        response_format: { type: 'json_object' },
      })
      const text = choices[0]?.message.content ?? ''
      given(context, 'response_format', isObject(parseJson(text)), `the answer is no JSON object: ${shown(text)}`)
    },
  },
  {
    feature: 'older limit',
    proves: 'The older name of the limit, max_tokens, is kept too, or refused by its name.',
    calls: 1,
    async run(context) {
      const { choices } = await context.gift('max_tokens', () =>
        context.openai.chat.completions.create({
          model: context.model('chat'),
          messages: say('Count from one to thirty in words.'),
          max_tokens: 16,
        }),
      )
      must(
        choices[0]?.finish_reason === 'length',
        `the answer ends with ${shown(choices[0]?.finish_reason)}, not "length"`,
      )
    },
  },
  {
    feature: 'choices',
    proves: 'Two answers come where two were asked for, or the wish is refused by its name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.gift('n', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), n: 2 }),
      )
      given(context, 'n', choices.length === 2, `two answers were asked for, ${choices.length} came`)
      must(choices.map(({ index }) => index).join() === '0,1', 'the answers are not numbered 0 and 1')
    },
  },
  {
    feature: 'logprobs',
    proves: 'Log probabilities come with the alternatives that were asked for, or the wish is refused by its name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.gift('logprobs', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), logprobs: true, top_logprobs: 2 }),
      )
      const tokens = choices[0]?.logprobs?.content ?? []
      given(context, 'logprobs', tokens.length > 0, 'no log probabilities came, and nobody said so')
      must(typeof tokens[0]?.logprob === 'number', `the first one is ${shown(tokens[0]?.logprob)}`)
      must(tokens[0]?.top_logprobs.length === 2, `${tokens[0]?.top_logprobs.length ?? 0} alternatives came, not 2`)
    },
  },
  {
    feature: 'seed',
    proves: 'A seed is taken, or refused by its name.',
    calls: 1,
    async run(context) {
      const model = context.model('chat')
      const { choices } = await context.gift('seed', () =>
        context.openai.chat.completions.create({ model, messages: say(shortPrompt), seed: 7 }),
      )
      must((choices[0]?.message.content ?? '') !== '', 'the answer has no text')
    },
  },
  {
    feature: 'audio',
    proves: 'A sound in the question is taken, or refused as what the model cannot hear.',
    calls: 1,
    async run(context) {
      const said = await context.gift(['audio', 'modality', 'modalities'], () =>
        context.talk('chat').ask({ text: 'Describe this sound in one sentence.' }, { audio: base64Of(toneBytes()) }),
      )
      must(said.text !== '', 'the answer has no text')
    },
  },
]
