import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../index.ts'
import { call } from '../provider/requests.test-support.ts'
import { readDirectives } from './directives.ts'

const provider = createFakeProvider()
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const tool = (name: string) => ({ type: 'function', function: { name, parameters: schema } })
const tools = [tool('get_weather'), tool('sendMail')]

const choice = async (text: string, more = {}) => (await (await call(provider, 'chat', text, more)).json()).choices[0]
const called = async (text: string, more = {}): Promise<[string, unknown][]> => {
  const { message } = await choice(text, { tools, ...more })
  return (message.tool_calls ?? []).map((one: { function: { name: string; arguments: string } }) => [
    one.function.name,
    JSON.parse(one.function.arguments),
  ])
}

describe('demo model', () => {
  it.each([
    ['How is the weather in Paris?', {}, [['get_weather', { city: 'Paris' }]]],
    ['Please use get_weather', {}, [['get_weather', { city: 'example' }]]],
    ['Then send mail to Bob', {}, [['sendMail', { city: 'Bob' }]]],
    ['Just say hello', {}, []],
    ['How is the weather?', { tool_choice: 'none' }, []],
    ['Just say hello', { tool_choice: 'required' }, [['get_weather', { city: 'example' }]]],
    ['Hi', { tool_choice: { type: 'function', function: { name: 'sendMail' } } }, [['sendMail', { city: 'example' }]]],
    [
      '[[tools:3]]',
      {},
      [
        ['get_weather', { city: 'example' }],
        ['sendMail', { city: 'example' }],
        ['get_weather', { city: 'example' }],
      ],
    ],
    ['[[tools:3]]', { parallel_tool_calls: false }, [['get_weather', { city: 'example' }]]],
    ['[[tool:sendMail {"list":[[1]]}]]', {}, [['sendMail', { list: [[1]] }]]],
  ])('responds to %s (%o) with the tool calls %o', async (text, more, wanted) => {
    expect(await called(text, more)).toEqual(wanted)
  })

  it('does not repeat a tool call after its result, even if the user asked for the tool', async () => {
    const call1 = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
    const messages = [
      { role: 'user', content: '[[tools:1]] the weather?' },
      { role: 'assistant', content: null, tool_calls: [call1] },
      { role: 'tool', tool_call_id: 'call_1', content: '18 degrees' },
    ]
    const { message } = await choice('', { messages, tools })
    expect(message.content).toBe('get_weather answered: 18 degrees.')
  })
})

describe('directives of the demo model', () => {
  it.each([
    ['a [[think]] b', [['think', '', {}]], 'a  b'],
    ['[[status:429 retry-after:2]]', [['status', '429', { 'retry-after': '2' }]], ''],
    ['[[say:one: two]]', [['say', 'one: two', {}]], ''],
    ['[[error-event:api_error after:3]]x', [['error-event', 'api_error', { after: '3' }]], 'x'],
    ['[[tool:f {"a":[[1,2]]}]]!', [['tool', 'f', { input: '{"a":[[1,2]]}' }]], '!'],
    ['[[wiki link]] and [[', [], '[[wiki link]] and [['],
    ['[[think', [], '[[think'],
  ])('control the response: %s', (text, wanted, rest) => {
    const read = readDirectives(text)
    expect(read.directives.map(({ name, value, options }) => [name, value, options])).toEqual(wanted)
    expect(read.rest).toBe(rest)
  })
})
