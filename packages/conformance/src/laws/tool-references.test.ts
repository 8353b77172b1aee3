import Anthropic from '@anthropic-ai/sdk'
import { anthropic as anthropicUpstream, createGateway, gemini, openai } from '@modelgate/core'
import { describe, expect, it } from 'vitest'

// Claude Code searches its deferred tools itself and sends the results in `tool_reference` blocks.

const references = ['WebFetch', 'NotebookEdit'].map((tool_name) => ({ type: 'tool_reference' as const, tool_name }))
const reported = 'Tools found, ready to be called: WebFetch, NotebookEdit'
const apiKey = 'upstream-key'
const upstreams = {
  chat: openai({ apiKey, baseURL: 'http://upstream.test', formats: ['chat'] }),
  responses: openai({ apiKey, baseURL: 'http://upstream.test', formats: ['responses'] }),
  gemini: gemini({ apiKey, baseURL: 'http://upstream.test' }),
  messages: anthropicUpstream({ apiKey, baseURL: 'http://upstream.test' }),
}

/** Returns the upstream's request for a tool search's result, and its losses. */
async function send(upstream: keyof typeof upstreams, more: object[] = []): Promise<{ sent: string; lost: string[] }> {
  let sent = ''
  const lost: string[] = []
  const gateway = createGateway({
    auth: () => ({ id: 'me' }),
    upstreams,
    models: { '*': upstream },
    logger: { warn: () => {}, error: () => {} },
    plugins: [{ name: 'losses', onFinish: ({ losses }) => void lost.push(...losses.map(({ path }) => path)) }],
    fetch: (async (_url: string, init: RequestInit) => {
      sent = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array)
      return Response.json({ error: { message: 'enough' } }, { status: 400 })
    }) as typeof fetch,
  })
  const client = new Anthropic({
    apiKey: 'key',
    baseURL: 'http://gateway.test',
    maxRetries: 0,
    fetch: (async (input: string | URL | Request, init?: RequestInit) =>
      gateway.fetch(new Request(input, init))) as typeof fetch,
  })
  const tool = (name: string) => ({ name, input_schema: { type: 'object' as const } })
  await client.messages
    .create({
      model: 'm',
      max_tokens: 100,
      tools: ['ToolSearch', 'WebFetch', 'NotebookEdit'].map(tool),
      messages: [
        { role: 'user', content: 'Fetch it.' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: { query: 'fetch' } }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [...references, ...more] as never }],
        },
      ],
    })
    .catch(() => {})
  return { sent, lost }
}

describe('tool search result of the Anthropic SDK', () => {
  it.each(['chat', 'responses', 'gemini'] as const)(
    'reaches an upstream of %s as text, without a loss',
    async (format) => {
      const { sent, lost } = await send(format)
      expect(sent).toContain(reported)
      expect(lost.filter((path) => path.startsWith('/messages'))).toEqual([])
    },
  )

  it('reaches an upstream of Messages unchanged, even if the body is re-encoded', async () => {
    const { sent } = await send('messages', [{ type: 'text', text: 'mgs1.gemini.c2VhbA==' }])
    expect(sent).toContain(JSON.stringify(references).slice(0, -1))
    expect(sent).not.toContain(reported)
  })
})
