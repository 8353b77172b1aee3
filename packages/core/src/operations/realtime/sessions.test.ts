import { expect, it } from 'vitest'
import type { GatewayConfig } from '../../config/config.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { openai } from '../../upstreams/openai.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'

function setUp(config: Pick<GatewayConfig, 'references'> = {}) {
  const sent: { url: string; body: string }[] = []
  const finished: FinishEvent[] = []
  const answer = '{ "value":"ek_1",  "expires_at": 12345678901234567890 }'
  const gateway = createGateway({
    auth: 'none',
    upstreams: {
      up: openai({ apiKey: 'sk-canary-1', baseURL: 'http://up/v1' }),
      none: openaiCompatible({ baseURL: 'http://x/v1' }),
    },
    models: { alias: { upstream: 'up', model: 'real' }, none: 'none' },
    ...config,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: async (input, init) => {
      sent.push({ url: String(input), body: await new Response(init?.body ?? null).text() })
      return new Response(answer, { headers: { 'content-type': 'application/json' } })
    },
  })
  const post = (path: string, body: string) =>
    gateway.fetch(`http://gw${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  return { post, sent, finished, answer }
}

it.each([
  [
    '/v1/realtime/client_secrets',
    '{ "expires_after":{"seconds": 600},"session":{"type":"realtime","model":"alias","audio":{}} }',
    '{ "expires_after":{"seconds": 600},"session":{"type":"realtime","model":"real","audio":{}} }',
  ],
  [
    '/v1/realtime/client_secrets',
    '{"session":{"model":"secret","model":"alias"},"session":{"model":"alias"},"model":"other"}',
    '{"session":{"model":"real"},"session":{"model":"real"},"model":"real"}',
  ],
  ['/v1/realtime/sessions', '{ "voice":"alloy","model":"alias" }', '{ "voice":"alloy","model":"real" }'],
  [
    '/v1/realtime/client_secrets',
    '{ "session":{"type":"transcription","audio":{"input":{"format":{"rate":24000},"transcription":{"language":"de","model":"alias"}}}}}',
    '{ "session":{"type":"transcription","audio":{"input":{"format":{"rate":24000},"transcription":{"language":"de","model":"real"}}}}}',
  ],
  [
    '/v1/realtime/transcription_sessions',
    '{ "input_audio_format":"pcm16","input_audio_transcription":{"model":"alias","prompt":""} }',
    '{ "input_audio_format":"pcm16","input_audio_transcription":{"model":"real","prompt":""} }',
  ],
  [
    '/v1/realtime/translations/client_secrets',
    '{ "session":{"model":"alias","audio":{"output":{"language":"fr"}}} }',
    '{ "session":{"model":"real","audio":{"output":{"language":"fr"}}} }',
  ],
])('%s replaces every occurrence of the model and passes the response unchanged', async (path, body, written) => {
  const { post, sent, finished, answer } = setUp()
  const reply = await post(path, body)
  expect([reply.status, await reply.text()]).toEqual([200, answer])
  expect(sent).toEqual([{ url: `http://up${path}`, body: written }])
  expect(finished).toMatchObject([
    { operation: 'realtime-sessions', model: 'alias', upstreamModel: 'real', lane: 'wire' },
  ])
})

it.each([
  ['/v1/realtime/sessions', { model: 'alias' }, 'prompt'],
  ['/v1/realtime/client_secrets', { session: { type: 'realtime', model: 'alias' } }, 'session.prompt'],
])('%s rejects a file of a variable that another caller may own', async (path, body, at) => {
  const prompt = { id: 'pmpt_own', variables: { chart: { type: 'input_file', file_id: 'file_1' } } }
  const { post, sent } = setUp({ references: { prompts: ['pmpt_own'] } })
  const withPrompt = 'session' in body ? { session: { ...body.session, prompt } } : { ...body, prompt }
  const reply = await post(path, JSON.stringify(withPrompt))
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: `${at}.variables.chart.file_id` } }])
  expect(sent).toEqual([])
})

it.each([
  ['/v1/realtime/client_secrets', '{}', 400, 'session'],
  ['/v1/realtime/client_secrets', '{"session":{"type":"realtime"}}', 400, 'session.model'],
  ['/v1/realtime/client_secrets', '{"session":{"model":7}}', 400, 'session.model'],
  ['/v1/realtime/client_secrets', '{"model":"alias","session":"x"}', 400, 'session'],
  ['/v1/realtime/client_secrets', '{"session":{"model":"nothing"}}', 404, 'model'],
  ['/v1/realtime/client_secrets', '{"session":{"model":"none"}}', 400, 'model'],
  ['/v1/realtime/sessions', '{"voice":"alloy"}', 400, 'model'],
  ['/v1/realtime/client_secrets', '{"session":{"type":"transcription"}}', 400, 'session.audio'],
  [
    '/v1/realtime/client_secrets',
    '{"session":{"type":"transcription","audio":{"input":{"transcription":{"language":"de"}}}}}',
    400,
    'session.audio.input.transcription.model',
  ],
  [
    '/v1/realtime/client_secrets',
    '{"session":{"type":"transcription","model":"alias","audio":{"input":{"transcription":{"model":"alias"}}}}}',
    400,
    'session.model',
  ],
  ['/v1/realtime/transcription_sessions', '{"model":"alias"}', 400, 'input_audio_transcription'],
  ['/v1/realtime/transcription_sessions', '{"input_audio_transcription":{"model":"nothing"}}', 404, 'model'],
  ['/v1/realtime/translations/client_secrets', '{"session":{"audio":{}}}', 400, 'session.model'],
  ['/v1/realtime/translations/client_secrets', '{"session":{"model":"none"}}', 400, 'model'],
])('%s rejects %s without an upstream call', async (path, body, status, param) => {
  const { post, sent } = setUp()
  const reply = await post(path, body)
  expect([reply.status, await reply.json()]).toMatchObject([status, { error: { param } }])
  expect(sent).toEqual([])
})
