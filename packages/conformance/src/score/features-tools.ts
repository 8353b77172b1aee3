import { objectOf } from '../base/json.ts'
import type { Said, Talk } from '../sdks/conversation.ts'
import type { Context } from './context.ts'
import type { Dialect } from './dialect.ts'
import { must, shown } from './expectations.ts'
import { type Feature, talkIn, thinking, thought } from './features.ts'

const weather = 'What is the weather in Paris? Use the tool get_weather.'
const both = 'Call get_weather for Paris and get_time for Oslo, both at once, before you say anything.'
const results = { get_weather: [{ text: '18 degrees and sunny' }], get_time: [{ text: 'half past nine' }] }

/** Calls of these tools, each with a city. */
function called({ tools, text }: Said, ...wanted: readonly string[]): void {
  const calls = tools.map(({ name }) => name).sort()
  must(
    calls.join() === [...wanted].sort().join(),
    `${calls.length === 0 ? `nothing was called, but said ${shown(text)}` : `${calls.join(', ')} was called`}: expected ${wanted.join(' and ')}`,
  )
  for (const { name, input } of tools) {
    const { city } = objectOf(input)
    must(typeof city === 'string', `${name} was called with ${shown(input)}: expected a city`)
  }
}

function reported(said: Said, dialect: Dialect): void {
  must(said.text.includes('18'), `the answer does not tell what the tool said: ${shown(said.text)}`)
  must(said.end === dialect.ends.stop, `the answer ends with ${shown(said.end)}, not ${shown(dialect.ends.stop)}`)
}

async function loop(talk: Talk, dialect: Dialect, question = weather): Promise<void> {
  const first = await talk.ask({ text: question })
  called(first, 'get_weather')
  reported(await talk.answer(results), dialect)
}

const forced = (context: Context, dialect: Dialect, tools: readonly string[], stream = false): Talk =>
  talkIn(context, dialect)({ stream, tools, extra: dialect.fields.force })

/** Checks of tools. */
export const tooling: readonly Feature[] = [
  {
    feature: 'tool',
    proves: 'A tool that must be called is called, with arguments that fit its schema.',
    calls: 1,
    async run(context, dialect) {
      const said = await forced(context, dialect, ['get_weather']).ask({ text: weather })
      called(said, 'get_weather')
      must(said.end === dialect.ends.tools, `the answer ends with ${shown(said.end)}, not ${shown(dialect.ends.tools)}`)
    },
  },
  {
    feature: 'no tool',
    proves: 'Where the choice is none, no tool is called, though there is one.',
    calls: 1,
    async run(context, dialect) {
      const talk = talkIn(context, dialect)({ tools: ['get_weather'], extra: dialect.fields.never })
      const said = await talk.ask({ text: 'What is the weather in Paris? Answer without a tool, in one sentence.' })
      must(said.tools.length === 0, `${said.tools.map(({ name }) => name).join(', ')} was called`)
      must(said.text !== '', 'the answer has no text')
    },
  },
  {
    feature: 'parallel tools',
    proves: 'Two tools are called in one answer, and the results of both are taken back.',
    calls: 2,
    async run(context, dialect) {
      const talk = talkIn(context, dialect)({ tools: ['get_weather', 'get_time'] })
      called(await talk.ask({ text: both }), 'get_weather', 'get_time')
      reported(await talk.answer(results), dialect)
    },
  },
  {
    feature: 'tool result',
    proves: 'A tool’s result goes back to the model, and it answers with it.',
    calls: 2,
    run: (context, dialect) => loop(talkIn(context, dialect)({ tools: ['get_weather'] }), dialect),
  },
  {
    feature: 'streamed tool',
    proves: 'The arguments of a call that is streamed join to JSON.',
    calls: 1,
    async run(context, dialect) {
      const said = await forced(context, dialect, ['get_weather'], true).ask({ text: weather })
      called(said, 'get_weather')
      must(said.end === dialect.ends.tools, `the stream ends with ${shown(said.end)}, not ${shown(dialect.ends.tools)}`)
    },
  },
  {
    feature: 'streamed tool loop',
    proves: 'What the SDK made of a streamed call can be sent back with the result.',
    calls: 2,
    run: (context, dialect) => loop(talkIn(context, dialect)({ tools: ['get_weather'], stream: true }), dialect),
  },
  {
    feature: 'thinking with tools',
    proves: 'Thoughts before a call go back with its result, signatures and all, and the loop goes on.',
    calls: 4,
    async run(context, dialect) {
      const { talk, said } = await thinking(context, dialect, ['get_weather'], weather)
      called(said, 'get_weather')
      thought(said)
      reported(await talk.answer(results), dialect)
    },
  },
]
