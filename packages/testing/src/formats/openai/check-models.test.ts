import { expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { createFakeProvider } from '../../index.ts'

const tools = [{ type: 'function', function: { name: 'f' } }]
const flatTools = [{ type: 'function', name: 'f' }]

const ask = async (path: string, body: JsonObject): Promise<{ status: number; error: JsonObject | undefined }> => {
  const own = path.endsWith('completions') ? { messages: [{ role: 'user', content: 'hi' }] } : { input: 'hi' }
  const { fetch } = createFakeProvider()
  const response = await fetch(`http://fake.test${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify({ ...own, ...body }),
  })
  const { error } = (await response.json()) as { error?: JsonObject }
  return { status: response.status, error: error ?? undefined }
}

const refusals: [path: string, body: JsonObject, param: string, status: number][] = [
  ['/v1/chat/completions', { model: 'gpt-5.4', tools, reasoning_effort: 'low' }, 'reasoning_effort', 400],
  ['/v1/chat/completions', { model: 'gpt-5.6-sol', tools }, 'reasoning_effort', 400],
  ['/v1/chat/completions', { model: 'gpt-6-astra', tools, reasoning_effort: 'low' }, 'reasoning_effort', 400],
  ['/v1/chat/completions', { model: 'gpt-6-astra', reasoning_effort: 'max' }, 'reasoning_effort', 400],
  ['/v1/chat/completions', { model: 'gpt-5', temperature: 0.2 }, 'temperature', 400],
  ['/v1/chat/completions', { model: 'gpt-5.4', reasoning_effort: 'low', top_p: 0.2 }, 'top_p', 400],
  ['/v1/chat/completions', { model: 'o3', stop: ['x'] }, 'stop', 400],
  ['/v1/chat/completions', { model: 'o3', max_tokens: 5 }, 'max_tokens', 400],
  ['/v1/chat/completions', { model: 'gpt-4.1', reasoning_effort: 'low' }, 'reasoning_effort', 400],
  ['/v1/chat/completions', { model: 'gpt-5-pro' }, 'model', 404],
  ['/v1/responses', { model: 'gpt-5.6-luna', reasoning: { effort: 'minimal' } }, 'reasoning.effort', 400],
  ['/v1/responses', { model: 'gpt-5.5', temperature: 0.2 }, 'temperature', 400],
  ['/v1/responses', { model: 'gpt-4.1', include: ['reasoning.encrypted_content'] }, 'include', 400],
]

it.each(refusals)('%s rejects %j, as OpenAI does', async (path, body, param, status) => {
  expect(await ask(path, body)).toMatchObject({ status, error: { param, type: 'invalid_request_error' } })
})

it.each([
  ['/v1/chat/completions', { model: 'gpt-5.4', tools, temperature: 0.2 }],
  ['/v1/chat/completions', { model: 'gpt-5.6-sol', tools, reasoning_effort: 'none', temperature: 0.2 }],
  ['/v1/chat/completions', { model: 'gpt-4.1', tools, temperature: 0.2, stop: 'x' }],
  ['/v1/chat/completions', { model: 'o3', tools, reasoning_effort: 'high', temperature: 1 }],
  ['/v1/responses', { model: 'gpt-6-astra', tools: flatTools, reasoning: { effort: 'max' } }],
  ['/v1/responses', { model: 'some-model', temperature: 0.2, reasoning: { effort: 'low' } }],
] as [string, JsonObject][])('%s accepts %j', async (path, body) => {
  expect(await ask(path, body)).toEqual({ status: 200, error: undefined })
})
