import { AzureKeyCredential } from '@azure/core-auth'
import createModelClient, { isUnexpected } from '@azure-rest/ai-inference'
import { expect } from 'vitest'
import { type JsonObject, objectOf, parseJson, textOf } from '../../base/json.ts'
import { type Case, clientToken } from '../context.ts'
import { ChunkReader, chatRequest, readCompletion } from './chat-forms.ts'
import type { CreateFamilyClient } from './family-client.ts'

export const infoCase: Case = {
  name: 'reads the information about a model',
  async run({ origin }) {
    const client = createModelClient(`${origin}/models`, new AzureKeyCredential(clientToken), options)
    const unnamed = await client.path('/info').get()
    expect(unnamed.status).toBe('400')
    const named = await client.path('/info').get({ queryParameters: { model: 'demo' } } as never)
    expect(named.body).toMatchObject({ model_name: 'demo' })
  },
}

const options = { retryOptions: { maxRetries: 0 }, allowInsecureConnection: true }

/** A REST client: it returns failures, and leaves streams to its users. */
export const azureInferenceClient: CreateFamilyClient = (origin, token) => {
  const client = createModelClient(`${origin}/models`, new AzureKeyCredential(token), options)
  return {
    finish: { stop: 'stop', tools: 'tool_calls' },
    async ask(question) {
      const { stream, signal, onText } = question
      const body = { ...chatRequest(question), ...(stream ? withUsage : {}) } as never
      const abort = signal === undefined ? {} : { abortSignal: signal }
      const request = client.path('/chat/completions').post({ body, ...abort })
      if (!stream) {
        const response = await request
        if (isUnexpected(response)) throw failure(response.status, response.body as unknown)
        return readCompletion(response.body)
      }
      const { status, body: bytes } = await request.asNodeStream()
      const texts = bytes as AsyncIterable<Uint8Array>
      if (status !== '200') throw failure(status, parseJson(await whole(texts)))
      const reader = new ChunkReader()
      for await (const data of eventsIn(texts)) {
        const chunk = objectOf(parseJson(data))
        if (chunk.error !== undefined) throw failure(status, chunk)
        reader.add(chunk, onText)
      }
      return reader.heard(signal)
    },
    async embed(input) {
      const response = await client.path('/embeddings').post({ body: { model: 'demo', input: [...input] } })
      if (isUnexpected(response)) throw failure(response.status, response.body as unknown)
      return response.body.data.map(({ embedding }) => embedding as number[])
    },
    statusOf: (error) => (error as { status?: unknown }).status,
  }
}

const withUsage = { stream: true, stream_options: { include_usage: true } }

function failure(status: string, body: unknown): Error {
  const message = textOf(objectOf(objectOf(body).error as JsonObject).message)
  return Object.assign(new Error(message), { status: Number(status) })
}

async function whole(texts: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of texts) text += new TextDecoder().decode(piece)
  return text
}

/** Yields the data of the events of a stream, as the package's own documentation reads them with a third package. */
async function* eventsIn(texts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of texts) {
    text += decoder.decode(piece, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) if (event.startsWith('data: {')) yield event.slice('data: '.length)
  }
}
