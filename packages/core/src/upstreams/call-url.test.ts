import { describe, expect, it } from 'vitest'
import { callUrl } from './call-url.ts'
import { openaiCompatible } from './openai-compatible.ts'

const upstream = openaiCompatible({ baseURL: 'https://up.test/v1' })
const url = (path: string, ending: string | undefined, model: string, query?: string): string =>
  callUrl(query === undefined ? upstream : { ...upstream, query }, path, ending, model).replace(
    'https://up.test/v1',
    '',
  )

describe('the address of a call', () => {
  it.each([
    ['/chat', undefined, 'gpt-4o', undefined, '/chat'],
    ['/models', '/{model}:generate', 'gemini-x', undefined, '/models/gemini-x:generate'],
    ['/models', '/{model}:generate', 'org/gemini x', undefined, '/models/org/gemini%20x:generate'],
    ['/model', '/{id}/invoke', 'arn:aws:p/x', undefined, '/model/arn%3Aaws%3Ap%2Fx/invoke'],
    ['/deployments/{model}/chat', undefined, 'd', undefined, '/deployments/d/chat'],
    ['/a', '/{model}', '100%', undefined, '/a/100%25'],
    ['/a', '/{model}', 'x?y#z&q=1', undefined, '/a/x%3Fy%23z%26q%3D1'],
    ['/a', '/{model}', 'é\u{1f600}', undefined, '/a/%C3%A9%F0%9F%98%80'],
    ['/a', '/{model}', '$&$1', undefined, '/a/%24%26%241'],
    ['/a', '/{model}', '{id}', undefined, '/a/%7Bid%7D'],
    ['/a', '/{model}', '...', undefined, '/a/...'],
    ['/a', '/{model}', '%2e%2e', undefined, '/a/%252e%252e'],
    ['/a', '/{model}', 'a\\x', undefined, '/a/a%5Cx'],
    ['/chat', undefined, 'm', '?api-version=1', '/chat?api-version=1'],
    ['/a', '/{model}:stream?alt=sse', 'm', '?api-version=1', '/a/m:stream?alt=sse&api-version=1'],
    ['/a', '/{model}', 'what?', '?v=1', '/a/what%3F?v=1'],
  ])('%s%s for %s%s', (path, ending, model, query, expected) => expect(url(path, ending, model, query)).toBe(expected))

  it.each([
    '',
    '.',
    '..',
    '../keys',
    'a/../../keys',
    '/a',
    'a/',
    'a//b',
    'a/./b',
    '..\\keys',
    'a\\..\\keys',
    '\ud800',
    'x\udfff',
  ])('is not made of a name that leads elsewhere: %j', (model) => {
    for (const ending of ['/{model}:generate', '/{id}:generate'])
      expect(() => url('/models', ending, model)).toThrow(
        expect.objectContaining({ info: expect.objectContaining({ kind: 'model_not_found', param: 'model' }) }),
      )
  })

  it('repeats no more than the beginning of a long name', () =>
    expect(() => url('/a', '/{model}', `${'x'.repeat(5000)}/..`)).toThrow(
      `The model '${'x'.repeat(100)}' does not exist.`,
    ))

  it('says nothing of the name where the address does not hold it', () =>
    expect(url('/chat', undefined, '..')).toBe('/chat'))
})
