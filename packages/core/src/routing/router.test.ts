import { describe, expect, it } from 'vitest'
import { createGateway } from '../gateway/create-gateway.ts'
import { openai } from '../upstreams/openai.ts'

function setUp(models: readonly string[] | null = ['listed', 'cheap-*']) {
  const sent: string[] = []
  const gateway = createGateway({
    auth: () => ({ id: 'me', ...(models === null ? {} : { models }) }),
    upstreams: { up: openai({ apiKey: 'k', baseURL: 'http://up/v1' }) },
    models: { '*': 'up' },
    explain: true,
    logger: false,
    fetch: async (_, init) => {
      sent.push(await new Response(init?.body ?? null).text())
      return Response.json({ error: { message: 'played' } }, { status: 400 })
    },
  })
  const post = async (path: string, body: string | FormData) => {
    const headers: Record<string, string> = { authorization: 'Bearer t', 'anthropic-version': '2023-06-01' }
    if (typeof body === 'string') headers['content-type'] = 'application/json'
    const response = await gateway.fetch(`http://gw${path}`, { method: 'POST', headers, body })
    return { status: response.status, error: (await response.json()).error }
  }
  return { post, sent }
}

const chat = '"model":"listed","messages":[{"role":"user","content":"hi"}]'
const tool = '"type":"function","function":{"name":"f"}'
const messages = `${chat},"max_tokens":9`
const responses = '"model":"listed","input":"hi"'

describe('a caller who may use some models only', () => {
  it.each([
    ['/v1/chat/completions', `{${chat},"models":["cheap-1","dear"]}`, 'models'],
    ['/v1/chat/completions', `{${chat},"moderation":{"model":"dear"}}`, 'moderation.model'],
    [
      '/v1/chat/completions',
      `{${chat},"plugins":[{"id":"web","allowed_models":["dear"]}]}`,
      'plugins[0].allowed_models',
    ],
    ['/v1/chat/completions', `{${chat},"fallbacks":[{"model":"cheap-1"},{"model":"dear"}]}`, 'fallbacks[1].model'],
    ['/v1/chat/completions', `{${chat},"extra_body":{"models":["dear"]}}`, 'extra_body.models'],
    ['/v1/chat/completions?modelgate=explain', `{${chat},"models":["dear"]}`, 'models'],
    ['/v1/responses', `{${responses},"models":["dear"]}`, 'models'],
    ['/v1/responses', `{${responses},"tools":[{"type":"image_generation","model":"dear"}]}`, 'tools[0].model'],
    [
      '/v1/responses',
      `{${responses},"tools":[{"type":"x","tools":[{"tools":[{"model":"dear"}]}]}]}`,
      'tools[0].tools[0].tools[0].model',
    ],
    [
      '/v1/responses/input_tokens',
      `{${responses},"tools":[{"type":"image_generation","model":"dear"}]}`,
      'tools[0].model',
    ],
    ['/v1/messages', `{${messages},"models":["dear"]}`, 'models'],
    [
      '/v1/messages',
      `{${messages},"tools":[{"type":"advisor_20260301","name":"advisor","model":"dear"}]}`,
      'tools[0].model',
    ],
    [
      '/v1/messages',
      `{"model":"listed","max_tokens":9,"messages":[{"role":"user","content":[{"type":"compaction","tool_changes":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"advisor_20260301","name":"advisor","model":"dear"}}}]}]}]}`,
      'messages[0].content[0].tool_changes[0].tool.definition.model',
    ],
    ['/v1/messages', `{${messages},"fallbacks":[{"model":"dear"}]}`, 'fallbacks[0].model'],
    ['/v1/embeddings', '{"model":"listed","input":"hi","models":["dear"]}', 'models'],
    ['/v1/images/generations', '{"model":"listed","prompt":"a cat","svg":{"model":"dear"}}', 'svg.model'],
    ['/v1/audio/speech', '{"model":"listed","input":"hi","voice":"a","models":["dear"]}', 'models'],
    ['/v1/moderations', '{"input":"hi","models":["dear"],"model":"listed"}', 'models'],
    [
      '/v1/realtime/client_secrets',
      '{"session":{"model":"listed","audio":{"input":{"transcription":{"model":"dear"}}}}}',
      'session.audio.input.transcription.model',
    ],
  ])('is rejected if a request to %s names another model: %s', async (path, body, named) => {
    const { post, sent } = setUp()
    const { status, error } = await post(path, body)
    expect(status === 400 || status === 404).toBe(true)
    expect(error.message).toContain(`'dear'`)
    expect(error.message).toContain(`'${named}'`)
    expect(sent).toEqual([])
  })

  it.each([
    ['"preset":"fast"', 'preset'],
    ['"route":"fallback"', 'route'],
    ['"plugins":[{"id":"web"},{"id":"auto-router"}]', 'plugins[1].id'],
    ['"fallbacks":[{"listed":["dear"]}]', 'fallbacks[0]'],
    [
      '"data_sources":[{"parameters":{"embedding_dependency":{"endpoint":"http://x"}}}]',
      'data_sources[0].parameters.embedding_dependency.endpoint',
    ],
  ])('is rejected for a member that selects a model without naming it: %s', async (member, named) => {
    const { post, sent } = setUp()
    const { status, error } = await post('/v1/chat/completions', `{${chat},${member}}`)
    expect([status, error.param]).toEqual([403, named])
    expect(error.message).toContain(`'${named}' selects a model`)
    expect(sent).toEqual([])
  })

  it.each([
    [`{${chat},"tools":[{${tool},"model":"dear","model":"listed"}]}`, "Duplicate member 'tools[0].model'"],
    [`{${chat},"tools":[{${tool},"mod\\u0065l":"listed","model":"listed"}]}`, "Duplicate member 'tools[0].model'"],
    [`{${chat},"tools":[{${tool},"Model":"listed"}]}`, "Unknown member 'tools[0].Model': use 'tools[0].model'"],
    [`{${chat},"tools":[],"tools":[]}`, "Duplicate member 'tools'"],
    [`{${chat},"Tools":[]}`, "Unknown member 'Tools': use 'tools'"],
    [`{${chat},"modelſ":["listed"]}`, "Unknown member 'modelſ': use 'models'"],
  ])('is rejected for a member that upstreams may interpret differently: %s', async (body, complaint) => {
    const { post, sent } = setUp()
    const large = body.replace('"hi"', `"${'x'.repeat(100_000)}"`)
    for (const one of [body, large]) {
      const { status, error } = await post('/v1/chat/completions', one)
      // The first value of a duplicate may be rejected on its own.
      expect(status === 400 || error.message.includes("'dear'")).toBe(true)
      if (!body.includes('dear')) expect(error.message).toContain(complaint)
    }
    expect(sent).toEqual([])
  })

  it.each([
    `{ "x" : [ {"model":"dear"} ], ${chat} , "models" : [ "cheap-2" , "listed" ], "n":1 }`,
    `{${chat},"models":null,"preset":null,"plugins":[{"id":"web"},{"id":null}],"tools":[],"fallbacks":[]}`,
    `{${chat},"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"model":{"type":"string"}}}}}]}`,
    `{${chat},"metadata":{"model":"dear","Models":"dear"},"user":"\\"models\\":[\\"dear\\"]"}`,
  ])('has requests that name only listed models passed unchanged: %s', async (body) => {
    const { post, sent } = setUp()
    const { error } = await post('/v1/chat/completions', body)
    expect([error.message, sent]).toEqual(['played', [body]])
  })

  it.each([
    ['models', 'dear', 404],
    ['models[]', 'dear', 404],
    ['fallbacks[0][model]', 'dear', 404],
    ['plugins[0][id]', 'auto-router', 403],
    ['Model', 'dear', 400],
    ['MODELS', 'listed', 400],
  ])('is limited to the list in an upload too: %s = %s', async (name, value, expected) => {
    const { post, sent } = setUp()
    const form = new FormData()
    form.append('model', 'listed')
    form.append('file', new Blob(['RIFF']), 'a.wav')
    form.append(name, value)
    expect((await post('/v1/audio/transcriptions', form)).status).toBe(expected)
    expect(sent).toEqual([])
  })
})

describe('a caller who may use every model', () => {
  it.each([[null], [['*']]])('may name and select any model (list: %j)', async (models) => {
    const { post, sent } = setUp(models)
    const body = `{${chat},"models":["dear"],"preset":"fast","tools":[{${tool},"model":"a","Model":"b"}]}`
    expect([(await post('/v1/chat/completions', body)).error.message, sent]).toEqual(['played', [body]])
  })

  it.each([
    ['{"model":"a","model":"b"', 'model'],
    ['{"Model":"a","model":"b"', 'Model'],
    ['{"model":"b","models":["x"],"models":["y"]', 'models'],
    ['{"model":"b","Preset":"x"', 'Preset'],
  ])('is rejected for a request with a duplicate top-level model: %s…', async (start, param) => {
    const { post, sent } = setUp(null)
    for (const text of ['hi', 'x'.repeat(100_000), 'é'.repeat(50_000)])
      expect(
        await post('/v1/chat/completions', `${start},"messages":[{"role":"user","content":"${text}"}]}`),
      ).toMatchObject({ status: 400, error: { param } })
    expect(sent).toEqual([])
  })
})
