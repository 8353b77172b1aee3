import { createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'
import Anthropic from '@anthropic-ai/sdk'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  CountTokensCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime'
import { nodeListener } from '@modelgate/node'
import { expect, vi } from 'vitest'
import { bedrockRuntime } from '../../base/bedrock-client.ts'
import { listOf, objectOf, parseJson, textOf } from '../../base/json.ts'
import { anthropicCases } from '../anthropic.ts'
import { type Case, clientToken, rejection, type SdkFixture } from '../context.ts'
import { finishCases } from '../finish-cases.ts'
import { mediaCases } from '../media-cases.ts'
import { thinkingCases } from '../thinking-cases.ts'
import { bedrockClient, invoke } from './bedrock-client.ts'
import { familyCases } from './family-cases.ts'
import { type Family, without } from './family-suite.ts'

const say = (text: string) => [{ role: 'user' as const, content: [{ text }] }]
const claudeBody = (text: string) => ({
  anthropic_version: 'bedrock-2023-05-31',
  max_tokens: 100,
  messages: [{ role: 'user', content: text }],
})
const chatBody = (text: string) => ({ messages: [{ role: 'user', content: text }] })
const clientOf = ({ origin }: SdkFixture): BedrockRuntimeClient => bedrockRuntime({ origin, token: clientToken })
const statusOf = (error: { [key: string]: unknown }): unknown => objectOf(error.$metadata).httpStatusCode

const noKeys = { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined }

/** Runs a call with the environment that AWS documents for API keys, and with no other credentials. */
async function withEnvironment<T>(values: Readonly<Record<string, string>>, call: () => Promise<T>): Promise<T> {
  for (const [name, value] of Object.entries({ ...noKeys, ...values })) vi.stubEnv(name, value)
  try {
    return await call()
  } finally {
    vi.unstubAllEnvs()
  }
}

const runtimeCases: readonly Case[] = [
  ...familyCases(bedrockClient, ['embed']),
  {
    name: 'reads its API key and its endpoint from the environment, and speaks HTTP/2',
    async run({ gateway }) {
      const listener = nodeListener(gateway)
      const server = createServer((request, response) => listener(request as never, response as never))
      const sessions = new Set<ServerHttp2Session>()
      server.on('session', (session) => void sessions.add(session))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const variables = {
        AWS_BEARER_TOKEN_BEDROCK: clientToken,
        AWS_ENDPOINT_URL_BEDROCK_RUNTIME: endpoint,
        AWS_REGION: 'us-east-1',
      }
      const text = await withEnvironment(variables, async () => {
        const client = new BedrockRuntimeClient({ maxAttempts: 1 })
        const { stream } = await client.send(
          new ConverseStreamCommand({ modelId: 'demo', messages: say('[[say:one two]]') }),
        )
        let heard = ''
        for await (const event of stream ?? []) heard += event.contentBlockDelta?.delta?.text ?? ''
        client.destroy()
        return heard
      })
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
      expect(text).toBe('one two')
    },
  },
  {
    name: 'gets told to use an API key in place of a signature',
    async run({ origin, fake }) {
      const before = fake.requests.length
      const signing = new BedrockRuntimeClient({
        ...{ endpoint: origin, region: 'us-east-1', maxAttempts: 1 },
        credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'not-a-secret' },
        authSchemePreference: ['sigv4'],
        requestHandler: clientOf({ origin } as SdkFixture).config.requestHandler,
      })
      const call = signing.send(new ConverseCommand({ modelId: 'demo', messages: say('hello') }))
      const error = await rejection(call)
      expect([statusOf(error), error.name]).toEqual([403, 'UnrecognizedClientException'])
      expect(error.message).toContain('AWS_BEARER_TOKEN_BEDROCK')
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'throws AWS’s exceptions',
    async run(setting) {
      const client = clientOf(setting)
      const ask = (modelId: string, text: string) => client.send(new ConverseCommand({ modelId, messages: say(text) }))
      expect((await rejection(ask('no-such-model', 'hello'))).name).toBe('ResourceNotFoundException')
      expect((await rejection(ask('demo', '[[status:429 retry-after:1]]'))).name).toBe('ThrottlingException')
      expect((await rejection(ask('demo', '[[status:500]]'))).name).toBe('ModelErrorException')
      const wrong = client.send(
        new ConverseCommand({ modelId: 'demo', messages: say('hello'), inferenceConfig: { temperature: 2.5 } }),
      )
      const error = await rejection(wrong)
      expect([error.name, error.message]).toEqual([
        'ValidationException',
        expect.stringContaining('inferenceConfig.temperature'),
      ])
    },
  },
  {
    name: 'throws an exception of a stream by its name',
    async run(setting) {
      const modelId = 'demo'
      const messages = say('[[words:50]] [[error-event after:8]]')
      const { stream } = await clientOf(setting).send(new ConverseStreamCommand({ modelId, messages }))
      const error = await rejection(
        (async () => {
          for await (const _ of stream ?? []);
        })(),
      )
      expect(error.name).toMatch(/^(ModelStreamError|ServiceUnavailable|InternalServer)Exception$/)
    },
  },
  {
    name: 'counts the tokens of a conversation and of a body of Claude',
    async run(setting) {
      const client = clientOf(setting)
      const body = new TextEncoder().encode(JSON.stringify(claudeBody('one two three')))
      for (const input of [{ converse: { messages: say('one two three') } }, { invokeModel: { body } }]) {
        const { inputTokens } = await client.send(new CountTokensCommand({ modelId: 'demo', input }))
        expect(inputTokens).toBeGreaterThan(2)
      }
    },
  },
  {
    name: 'invokes a model with a body of OpenAI, whole and streamed',
    async run(setting) {
      const client = clientOf(setting)
      const whole = objectOf(await invoke(client, 'renamed', chatBody('[[say:one two three]]')))
      expect(objectOf(objectOf(listOf(whole.choices)[0]).message).content).toBe('one two three')
      expect(setting.fake.requests.at(-1)?.model).toBe('upstream-name')
      const body = JSON.stringify(chatBody('[[say:one two three]]'))
      const { body: parts } = await client.send(new InvokeModelWithResponseStreamCommand({ modelId: 'demo', body }))
      let text = ''
      for await (const { chunk } of parts ?? []) {
        const event = objectOf(parseJson(new TextDecoder().decode(chunk?.bytes)))
        text += textOf(objectOf(objectOf(listOf(event.choices)[0]).delta).content)
      }
      expect(text).toBe('one two three')
    },
  },
  {
    name: 'receives the embedding of one text in Titan’s form, or an error that names the reason',
    async run(setting) {
      const call = invoke(clientOf(setting), 'demo', { inputText: 'one' })
      if (setting.upstream === 'messages') {
        const error = await rejection(call)
        expect([error.name, error.message]).toEqual(['ValidationException', expect.stringContaining('embeddings')])
        return
      }
      const { embedding, inputTextTokenCount } = objectOf(await call)
      expect(listOf(embedding).map((number) => typeof number)).toContain('number')
      expect(typeof inputTextTokenCount).toBe('number')
    },
  },
  {
    name: 'gets told which bodies InvokeModel accepts',
    async run(setting) {
      const error = await rejection(invoke(clientOf(setting), 'demo', { prompt: 'hello', max_gen_len: 9 }))
      expect([error.name, error.message]).toEqual(['ValidationException', expect.stringContaining('use Converse')])
    },
  },
]

const anthropicBedrock = (origin: string, apiKey: string): Anthropic =>
  new AnthropicBedrock({ apiKey, awsRegion: 'us-east-1', baseURL: origin, maxRetries: 0, logLevel: 'off' }) as never

/** Errors of InvokeModel have AWS's form and statuses, which the SDK gives the class of their status. */
const invokeErrors: readonly Case[] = [
  {
    name: 'throws a 403, a 404 and a 400 with their messages, and no upstream call',
    async run({ anthropic, unknownTokenClients, fake }) {
      const before = fake.requests.length
      const base = { model: 'demo', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] }
      const unauthorized = await rejection(unknownTokenClients.anthropic.messages.create(base))
      expect(unauthorized).toBeInstanceOf(Anthropic.PermissionDeniedError)
      expect(unauthorized.message).toContain('API key')
      const unknown = await rejection(anthropic.messages.create({ ...base, model: 'no-such-model' }))
      expect(unknown).toBeInstanceOf(Anthropic.NotFoundError)
      expect(unknown.message).toContain('no-such-model')
      const wrong = await rejection(anthropic.messages.create({ ...base, max_tokens: 0 }))
      expect(wrong).toBeInstanceOf(Anthropic.BadRequestError)
      expect(wrong.message).toContain('max_tokens')
      expect(fake.requests).toHaveLength(before)
    },
  },
  ...[false, true].map(
    (stream): Case => ({
      name: `throws an upstream failure${stream ? ' of a stream' : ''}`,
      async run({ anthropic, upstream }) {
        for (const [directive, status] of [
          ['[[status:429 retry-after:7]]', 429],
          ['[[status:500]]', 424],
          [upstream === 'messages' ? '[[status:529]]' : '[[status:503]]', 503],
        ] as const) {
          const messages = [{ role: 'user' as const, content: directive }]
          const error = await rejection(anthropic.messages.create({ model: 'demo', max_tokens: 9, messages, stream }))
          expect(error).toBeInstanceOf(Anthropic.APIError)
          expect(error.status, directive).toBe(status)
          if (status === 429) expect((error.headers as Headers).get('retry-after')).toBe('7')
        }
      },
    }),
  ),
]

/** The official clients of Bedrock, with an API key in place of a signature. */
export const bedrockFamilies: readonly Family[] = [
  {
    package: '@aws-sdk/client-bedrock-runtime',
    name: 'BedrockRuntimeClient',
    cases: [...runtimeCases, ...thinkingCases('converse'), ...finishCases('converse'), ...mediaCases('converse')],
  },
  {
    package: '@anthropic-ai/bedrock-sdk',
    name: 'AnthropicBedrock',
    cases: [
      // Bedrock has neither model lists nor Anthropic's errors.
      ...without(anthropicCases, 'reads the model list', 'throws a 4', 'throws an upstream failure'),
      ...invokeErrors,
      ...thinkingCases('messages'),
      ...finishCases('messages'),
      ...mediaCases('messages'),
    ],
    clients: ({ origin, unknownTokenClients }) => ({
      anthropic: anthropicBedrock(origin, clientToken),
      unknownTokenClients: { ...unknownTokenClients, anthropic: anthropicBedrock(origin, 'nobody-knows-this-token') },
    }),
  },
]
