import { describe, expect, it } from 'vitest'
import { createMatcher } from './match-route.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'

const match = createMatcher(routes)
const vertex = '/v1/projects/p/locations/global'

describe('the matcher', () => {
  it.each<[string, string, string, Record<string, string>]>([
    [
      'POST',
      '/openai/deployments/gpt/chat/completions',
      '/openai/deployments/{model}/chat/completions',
      { model: 'gpt' },
    ],
    ['POST', '/openai/deployments/org/m/embeddings', '/openai/deployments/{model}/embeddings', { model: 'org/m' }],
    ['GET', '/openai/responses/r1/input_items', '/openai/responses/{id}/input_items', { id: 'r1' }],
    [
      'POST',
      `${vertex}/publishers/google/models/org%2Fm:8b:generateContent`,
      '/v1/projects/{project}/locations/{location}/publishers/google/models/{model}:generateContent',
      { project: 'p', location: 'global', model: 'org/m:8b' },
    ],
    [
      'POST',
      `${vertex}/publishers/anthropic/models/claude@1:streamRawPredict`,
      '/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{model}:streamRawPredict',
      { project: 'p', location: 'global', model: 'claude@1' },
    ],
    [
      'POST',
      `${vertex}/publishers/anthropic/models/count-tokens:rawPredict`,
      '/v1/projects/{project}/locations/{location}/publishers/anthropic/models/count-tokens:rawPredict',
      { project: 'p', location: 'global' },
    ],
    [
      'POST',
      '/v1/publishers/org/models/m%2F2:predict',
      '/v1/publishers/{publisher}/models/{model}:predict',
      { publisher: 'org', model: 'org/m/2' },
    ],
    ['POST', '/v1/publishers/google/models/m:predict', '/v1/publishers/google/models/{model}:predict', { model: 'm' }],
  ])('reads the parameters of %s %s', (method, path, expected, params) => {
    const found = match(method, path)
    expect([found?.route.path, found?.params]).toEqual([expected, params])
    expect([found?.allow, found?.actions]).toEqual([undefined, undefined])
  })

  it.each([
    ['POST', '/v1/projects//locations/global/endpoints/openapi/chat/completions'],
    ['POST', '/v1/projects/a/b/locations/global/endpoints/openapi/chat/completions'],
    ['POST', '/openai/deployments/completions'],
    ['POST', '/openai/v1/messages'],
    ['POST', '/anthropic/v1/chat/completions'],
    ['POST', '/openai/v1beta/models/m:generateContent'],
  ])('does not match %s %s', (method, path) => {
    expect(match(method, path)).toBeNull()
  })

  it('reports the allowed method of a path with parameters', () => {
    expect(match('GET', '/openai/deployments/gpt/embeddings')?.allow).toBe('POST')
    expect(match('PUT', '/openai/responses/r1')?.allow).toBe('GET, DELETE')
  })

  it('lists the actions of the same folder for an unknown action', () => {
    expect(match('POST', `${vertex}/publishers/anthropic/models/m:foo`)?.actions).toEqual([
      ':rawPredict',
      ':streamRawPredict',
    ])
    expect(match('POST', `${vertex}/publishers/nobody/models/m:rawPredict`)?.actions).toContain(':generateContent')
    expect(match('POST', '/v1beta/models/m:foo')?.actions).toContain(':generateContent')
    expect(match('POST', '/v1/models/m:foo')?.route.format).toBe('gemini')
    expect(match('GET', '/v1/models/m:foo')?.route.operation).toBe('get-model')
  })

  it('prefers the route with the longer text around its parameters, whatever their order', () => {
    const row = (path: string): Route => ({ method: 'GET', path, operation: 'plugin', format: 'chat' })
    const paths = ['/a/{x}', '/a/{x}/c', '/a/b/{x}', '/a/{x}-{y}/c', '/{x}']
    for (const table of [paths, paths.toReversed()]) {
      const find = createMatcher(table.map(row))
      const pathOf = (path: string) => [find('GET', path)?.route.path, find('GET', path)?.params]
      expect(pathOf('/a/1')).toEqual(['/a/{x}', { x: '1' }])
      expect(pathOf('/a/1/c')).toEqual(['/a/{x}/c', { x: '1' }])
      expect(pathOf('/a/1-2/c')).toEqual(['/a/{x}-{y}/c', { x: '1', y: '2' }])
      expect(pathOf('/a/b/c')).toEqual(['/a/b/{x}', { x: 'c' }])
      expect(pathOf('/b/c')).toEqual(['/{x}', { x: 'b/c' }])
      expect(find('GET', '/')).toBeNull()
    }
  })

  it('leaves paths of many hosts to a host that shares its root with the gateway', () => {
    for (const [method, path] of [
      ['GET', '/api/v1/models'],
      ['POST', '/api/v1/chat/completions'],
      ['POST', '/api/v1/messages'],
    ] as const) {
      expect(match(method, path)?.route.family, path).toBe('OpenRouter')
      expect(match(method, path, true), path).toBeNull()
    }
    // A wrong method gets a 405 from a gateway that is alone.
    expect(match('GET', '/models/chat/completions')?.allow).toBe('POST')
    expect(match('GET', '/models/chat/completions', true)).toBeNull()
    expect(match('POST', '/models/chat/completions', true)?.route.operation).toBe('generate')
  })
})
