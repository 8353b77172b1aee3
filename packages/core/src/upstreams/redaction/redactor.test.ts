import { describe, expect, it } from 'vitest'
import { parseObject } from '../../base/json/parse.ts'
import { codecs } from '../../formats/codecs.ts'
import { tapEvents } from '../../operations/openai-media.ts'
import { openai } from '../openai.ts'
import { openaiCompatible } from '../openai-compatible.ts'
import { mayHaveErrorMember, memberKind, redact, redactorOf } from './redactor.ts'

const key = 'sk-qF7w2Xr9/Tz5bLk0+Vn3mHd8'
const redactor = redactorOf(openai({ apiKey: key, baseURL: 'https://inside.example/v1' }))

describe('JSON of an upstream', () => {
  it.each<[string, string, string]>([
    ['an unknown field', `{ "odd" :[["${key}"]] ,"n":1.0}`, '{ "odd" :[["***"]] ,"n":1.0}'],
    ['a member name', `{"${key}":{"a":1}}`, '{"***":{"a":1}}'],
    [
      'an error at any depth',
      `{"output":[{"item":{"error":{"why":["${key} at inside.example"]}}}]}`,
      '{"output":[{"item":{"error":{"why":["*** at [upstream]"]}}}]}',
    ],
    ['a message that is a string', `{"message":"${key} at https://inside.example"}`, '{"message":"*** at [upstream]"}'],
    [
      'a blocked prompt',
      `{"promptFeedback":{"blockReasonMessage":"${key}"}}`,
      '{"promptFeedback":{"blockReasonMessage":"***"}}',
    ],
    [
      'an error within an error, under a name of content',
      `{"error":{"text":"${key}","content":[{"text":"inside.example"}]}}`,
      '{"error":{"text":"***","content":[{"text":"[upstream]"}]}}',
    ],
    ['escapes', `{"odd":"${key.replace('/', '\\/').replace('k', '\\u006b')}"}`, '{"odd":"***"}'],
  ])('has only secrets masked: %s', (_, text, expected) => {
    expect(redactor.isClean(parseObject(text) ?? {})).toBe(false)
    expect(redactor.redactJson(text)).toBe(expected)
  })

  it.each([
    ['content', `{"choices":[{"message":{"content":"${key} inside.example","reasoning":"${key}"}}]}`],
    ['parts of content', `{"content":[{"type":"text","text":"${key}"}],"data":["${key}"]}`],
    ['arguments of tool calls, including names', `{"type":"tool_use","input":{"${key}":{"error":"inside.example"}}}`],
    [
      'an address in a successful response',
      '{"data":[{"url":"https://inside.example/v1/files/1"}],"citations":["inside.example"]}',
    ],
    ['numbers in long lists', `{"embedding":[${Array.from({ length: 3000 }, (_, at) => at / 7).join()}]}`],
    ['errors without secrets', '{ "error" : {"message":"no \\/ \\u0041"} , "x" : 1.50 }'],
  ])('is passed unchanged: %s', (_, text) => {
    expect(redactor.isClean(parseObject(text) ?? {})).toBe(true)
    expect(redactor.redactJson(text)).toBe(text)
  })

  it('is redacted at the maximum nesting depth', () => {
    const deep = (inner: string): string => `{"odd":${'['.repeat(200_000)}${inner}${']'.repeat(200_000)}}`
    expect(redactor.isClean(parseObject(deep('1')) ?? {})).toBe(false)
    expect(redactor.redactJson(deep('1'))).toBe(deep('1'))
    expect(redactor.redactJson(deep(`"${key}"`))).toBe(deep('"***"'))
  })

  it('stays valid JSON if the key equals a JSON keyword', () => {
    for (const apiKey of ['error', 'message', 'null', 'true', '400', '"', '{}']) {
      const of = redactorOf(openai({ apiKey }))
      const text = '{"error":{"message":"null true 400 error","code":400,"param":null}}'
      expect(JSON.parse(of.redactJson(text))).toMatchObject({ error: { code: 400, param: null } })
    }
  })
})

describe('names of members', () => {
  it('are content in all streams that repeat them with other values', () => {
    const taps = codecs.map((codec) => codec.tapStream({ withholdUsage: false, target: { model: 'm', quirks: {} } }))
    const names = [...taps, tapEvents({ done: 'x' })].flatMap(({ varyingMembers: varying = [] }) => [...varying])
    const numbers = /created|_index$|_number$|Count$/
    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((name) => !numbers.test(name) && memberKind(name) !== 'content')).toEqual([])
  })

  it.each([
    ['{"error":{}}', true],
    ['{"errors" : ["x"]}', true],
    ['{"a":{"Message":"x"}}', true],
    ['{"a":{"blockReasonMessage":"x"}}', true],
    ['{"\\u0065rror":{}}', true],
    ['{"error":null,"message":{"content":"x"}}', false],
    ['{"text":"an \\"error\\": here"}', false],
  ])('that mark errors are detected in a text: %s', (text, expected) => expect(mayHaveErrorMember(text)).toBe(expected))
})

describe('a deployment’s name in a base URL', () => {
  const deployment = openaiCompatible({
    baseURL: 'https://acme.test/openai/deployments/gpt4o-weather-agent/v1',
    apiKey: 'sk-0123456789abcdef',
  })
  it('stays in successful responses, where it can be the name of a model or tool', () => {
    const body = '{"model":"gpt4o-weather-agent","tool":"deploy_gpt4o-weather-agent"}'
    expect(redactorOf(deployment).redactJson(body)).toBe(body)
  })
  it('is masked in errors', () => {
    expect(redact('no deployment gpt4o-weather-agent', deployment)).toBe('no deployment ***')
  })
})
