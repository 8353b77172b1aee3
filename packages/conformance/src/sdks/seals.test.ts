import Anthropic from '@anthropic-ai/sdk'
import { anthropic as anthropicUpstream, createGateway, gemini, openai as openaiUpstream } from '@modelgate/core'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

// Gemini signs its tool calls and requires the signature back. The SDKs send back what they received.

/** Longer than an id may be, like most signatures. */
const signature = 'c2lnbmF0dXJlIG9mIGEgY2FsbCB0aGF0IGlzIGxvbmdlciB0aGFuIGFueSBpZA=='
/** The shortest signature in recorded calls. */
const shortSignature = 'c2lnbmF0dXJlIG9mIGEgY2FsbCB0aGF0IGZpdHMgaW4='

interface Sent {
  contents: { parts: { functionCall?: object; thoughtSignature?: string }[] }[]
}

/** Creates a gateway with a Gemini upstream that calls a tool and then uses its result. */
function setUp(thoughtSignature = signature) {
  const parts = {
    call: [{ functionCall: { name: 'weather', args: { city: 'Oslo' } }, thoughtSignature }],
    text: [{ text: 'Rain.' }, { text: '', thoughtSignature }],
  }
  const sent: Sent[] = []
  const gateway = createGateway({
    auth: () => ({ id: 'me' }),
    upstreams: {
      google: gemini({ apiKey: 'upstream-key', baseURL: 'http://google.test' }),
    },
    models: { '*': 'google' },
    logger: { warn: () => {}, error: () => {} },
    fetch: (async (url: string, init: RequestInit) => {
      const body = JSON.parse(
        typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array),
      )
      sent.push(body)
      const asksTool = body.tools !== undefined && !JSON.stringify(body).includes('functionResponse')
      const answer = {
        candidates: [
          { content: { role: 'model', parts: parts[asksTool ? 'call' : 'text'] }, finishReason: 'STOP', index: 0 },
        ],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
        modelVersion: 'm',
      }
      return String(url).includes('stream')
        ? new Response(`data: ${JSON.stringify(answer)}\n\n`, { headers: { 'content-type': 'text/event-stream' } })
        : Response.json(answer)
    }) as typeof fetch,
  })
  const through = (async (input: string | URL | Request, init?: RequestInit) =>
    gateway.fetch(new Request(input, init))) as typeof fetch
  return {
    sent,
    anthropic: new Anthropic({ apiKey: 'key', baseURL: 'http://gateway.test', fetch: through, maxRetries: 0 }),
    openai: new OpenAI({ apiKey: 'key', baseURL: 'http://gateway.test/v1', fetch: through, maxRetries: 0 }),
  }
}

const model = 'gemini-3-pro-preview'
/** Returns the signatures on the calls that the client sent back. */
const returned = (sent: readonly Sent[]) =>
  sent
    .at(-1)
    ?.contents.flatMap((content) => content.parts)
    .filter(({ functionCall }) => functionCall !== undefined)
    .map(({ thoughtSignature }) => thoughtSignature)

describe.each([false, true])('Anthropic SDK with a Gemini model, streamed: %s', (stream) => {
  const tools: Anthropic.Tool[] = [
    { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
  ]
  const question: Anthropic.MessageParam = { role: 'user', content: 'What is the weather?' }

  async function ask(client: Anthropic, more: Partial<Anthropic.MessageCreateParamsNonStreaming>) {
    const body = { model, max_tokens: 2000, messages: [question], ...more }
    return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
  }

  it('reads a text as the first block of a request without thinking', async () => {
    const { anthropic } = setUp()
    const { content } = await ask(anthropic, {})
    expect(content).toMatchObject([{ type: 'text', text: 'Rain.' }])
    expect(content.length).toBe(1)
  })

  it('reads a call as the first block, and sends its signature back with it', async () => {
    const { anthropic, sent } = setUp()
    const { content } = await ask(anthropic, { tools })
    const [call] = content
    if (call?.type !== 'tool_use') throw new Error(`The first block is ${call?.type}`)
    expect(call.input).toEqual({ city: 'Oslo' })
    expect(content.length).toBe(1)
    const last = await ask(anthropic, {
      tools,
      messages: [
        question,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'Rain.' }] },
      ],
    })
    expect(last.content).toMatchObject([{ type: 'text' }])
    expect(returned(sent)).toEqual([signature])
  })

  it('receives the signature in a thinking block if the request enables thinking', async () => {
    const { anthropic, sent } = setUp()
    const thinking = { type: 'enabled', budget_tokens: 1024 } as const
    const { content } = await ask(anthropic, { tools, thinking })
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use'])
    const call = content[1] as Anthropic.ToolUseBlock
    const result = { type: 'tool_result', tool_use_id: call.id, content: 'Rain.' } as const
    await ask(anthropic, {
      tools,
      thinking,
      messages: [question, { role: 'assistant', content }, { role: 'user', content: [result] }],
    })
    expect(returned(sent)).toEqual([signature])
  })
})

describe.each([false, true])('OpenAI SDK with a Gemini model, streamed: %s', (stream) => {
  const tools: OpenAI.Responses.Tool[] = [
    {
      type: 'function',
      name: 'weather',
      strict: false,
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  ]
  const question = { role: 'user', content: 'What is the weather?' } as const

  async function ask(client: OpenAI, more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>) {
    const body = { model, input: [question], store: false, ...more }
    return stream ? client.responses.stream(body as never).finalResponse() : client.responses.create(body)
  }

  it('reads a message as the first output of Responses', async () => {
    const { openai } = setUp()
    const { output } = await ask(openai, {})
    expect(output.map(({ type }) => type)).toEqual(['message'])
  })

  it('reads a call as the first output, and sends its signature back with it', async () => {
    const { openai, sent } = setUp()
    const { output } = await ask(openai, { tools })
    expect(output.map(({ type }) => type)).toEqual(['function_call'])
    const { call_id } = output[0] as OpenAI.Responses.ResponseFunctionToolCall
    await ask(openai, {
      tools,
      input: [question, ...(output as never[]), { type: 'function_call_output', call_id, output: 'Rain.' }],
    })
    expect(returned(sent)).toEqual([signature])
  })

  it('receives the signature in a reasoning item if the request enables reasoning', async () => {
    const { openai } = setUp()
    const { output } = await ask(openai, { tools, include: ['reasoning.encrypted_content'] })
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call'])
  })
})

describe.each([false, true])('runTools of the OpenAI SDK with a Gemini model, streamed: %s', (stream) => {
  async function run(client: OpenAI): Promise<string | null> {
    const body = {
      model,
      messages: [{ role: 'user' as const, content: 'What is the weather?' }],
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'weather',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: JSON.parse,
            function: async () => 'Rain.',
          },
        },
      ],
    }
    return stream
      ? client.chat.completions.runTools({ ...body, stream: true } as never).finalContent()
      : client.chat.completions.runTools(body as never).finalContent()
  }

  it('sends a signature back that fits into the id of the call', async () => {
    const { openai, sent } = setUp(shortSignature)
    expect(await run(openai)).toBe('Rain.')
    expect(returned(sent)).toEqual([shortSignature])
  })

  it('finishes without a signature that does not fit, which is dropped', async () => {
    const { openai, sent } = setUp()
    expect(await run(openai)).toBe('Rain.')
    expect(sent.length).toBe(2)
  })
})

describe('tool call with a signature in its id', () => {
  it('has an id of at most 64 characters, and reaches other upstreams and the same format without the signature', async () => {
    const { openai } = setUp(shortSignature)
    const question = { role: 'user', content: 'What is the weather?' } as const
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }] as const
    const answer = await openai.chat.completions.create({ model, messages: [question], tools: [...tools] })
    const message = answer.choices[0]?.message
    const id = message?.tool_calls?.[0]?.id ?? ''
    expect(id).toContain(shortSignature)
    expect(id.length).toBeLessThanOrEqual(64)
    const bodies: string[] = []
    for (const upstream of [openaiUpstream, anthropicUpstream] as const) {
      const gateway = createGateway({
        auth: () => ({ id: 'me' }),
        upstreams: { other: upstream({ apiKey: 'upstream-key', baseURL: 'http://other.test' }) },
        models: { '*': 'other' },
        logger: { warn: () => {}, error: () => {} },
        fetch: (async (_url: string, init: RequestInit) => {
          bodies.push(typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array))
          return Response.json({ error: { message: 'enough' } }, { status: 400 })
        }) as typeof fetch,
      })
      const body = JSON.stringify({
        model: 'm',
        messages: [question, message, { role: 'tool', tool_call_id: id, content: 'Rain.' }],
      })
      const headers = { authorization: 'Bearer key', 'content-type': 'application/json' }
      await gateway.fetch(new Request('http://gateway.test/v1/chat/completions', { method: 'POST', headers, body }))
    }
    expect(bodies.length).toBe(2)
    for (const body of bodies) expect(body).not.toContain(shortSignature)
    const [chat] = bodies.map((body) => JSON.parse(body))
    expect(chat.messages[1].tool_calls[0].id).toBe(chat.messages[2].tool_call_id)
  })
})
