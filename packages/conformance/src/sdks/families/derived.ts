import AnthropicFoundry from '@anthropic-ai/foundry-sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { AzureOpenAI } from 'openai'
import { expect } from 'vitest'
import { anthropicCases } from '../anthropic.ts'
import { type Case, clientToken, modelNames, rejection, type SdkFixture } from '../context.ts'
import { finishCases } from '../finish-cases.ts'
import { errorOf, googleCases } from '../gemini.ts'
import { mediaCases } from '../media-cases.ts'
import { openaiCases } from '../openai.ts'
import { responsesCases } from '../responses.ts'
import { thinkingCases } from '../thinking-cases.ts'
import { type Family, without } from './family-suite.ts'

const stranger = 'nobody-knows-this-token'
const options = (apiKey: string) => ({ apiKey, maxRetries: 0, logLevel: 'off' as const })

/** The part of a Google account that the SDKs need. */
const account = (token: string) =>
  ({ getRequestHeaders: async () => new Headers({ authorization: `Bearer ${token}` }), projectId: 'p' }) as never

type Clients = Pick<SdkFixture, 'openai' | 'anthropic' | 'google'>
/** Replaces one client of a fixture, also for requests with an unknown token. */
const replaced =
  <K extends keyof Clients>(name: K, create: (origin: string, token: string) => Clients[K]) =>
  (setting: SdkFixture): Partial<SdkFixture> => ({
    [name]: create(setting.origin, clientToken),
    unknownTokenClients: { ...setting.unknownTokenClients, [name]: create(setting.origin, stranger) },
  })

const chatCases = [...openaiCases, ...thinkingCases('chat'), ...finishCases('chat'), ...mediaCases('chat')]
/** Counts the tokens of a request; its path names no model. */
const countCase: Case = {
  name: 'counts tokens',
  async run({ anthropic }) {
    const messages = [{ role: 'user' as const, content: 'one two three' }]
    expect((await anthropic.messages.countTokens({ model: 'demo', messages })).input_tokens).toBeGreaterThan(0)
  },
}

const messagesCases = [
  // The vendors' own clients have no model lists.
  ...without(anthropicCases, 'reads the model list'),
  ...thinkingCases('messages'),
  ...finishCases('messages'),
  ...mediaCases('messages'),
  countCase,
]
/** Vertex AI reads the part before a slash as the publisher. */
const publisherName = (name: string): string => {
  const [first = '', second] = name.split('/')
  return second === undefined ? `publishers/google/models/${first}` : `publishers/${first}/models/${second}`
}
const vertexCases: readonly Case[] = [
  ...without(googleCases, 'reads the model list'),
  ...thinkingCases('gemini'),
  ...finishCases('gemini'),
  ...mediaCases('gemini'),
  {
    name: 'reads the model list and one model',
    async run({ google }) {
      const names: unknown[] = []
      for await (const model of await google.models.list()) names.push(model.name)
      expect(names).toEqual(modelNames.map(publisherName))
      for (const model of [...modelNames, ...modelNames.map(publisherName)])
        expect((await google.models.generateContent({ model, contents: '[[say:hi]]' })).text, model).toBe('hi')
      const found = await google.models.get({ model: 'org/model-2' })
      expect(found).toMatchObject({ name: 'publishers/org/models/model-2' })
      expect(errorOf(await rejection(google.models.get({ model: 'absent' })))).toMatchObject({ status: 'NOT_FOUND' })
    },
  },
  {
    name: 'receives text embeddings, or an error that names the reason',
    async run({ google, upstream }) {
      const call = google.models.embedContent({ model: 'demo', contents: ['one', 'two'] })
      if (upstream === 'messages') expect(errorOf(await rejection(call))).toMatchObject({ status: 'INVALID_ARGUMENT' })
      else expect((await call).embeddings?.map(({ values }) => typeof values?.[0])).toEqual(['number', 'number'])
    },
  },
]

const azure = (origin: string, token: string): AzureOpenAI =>
  new AzureOpenAI({
    ...options(token),
    endpoint: origin,
    apiVersion: '2025-04-01-preview',
    organization: null,
    project: null,
  })

/** Operations other than chat that name the model in the path, in the body and in a form. */
const deploymentCases: readonly Case[] = [
  {
    name: 'receives embeddings, or an error that names the reason',
    async run({ openai, upstream, fake }) {
      const call = openai.embeddings.create({ model: 'renamed', input: ['one', 'two'] })
      if (upstream === 'messages') expect(await rejection(call)).toMatchObject({ status: 400, param: 'model' })
      else {
        expect((await call).data).toHaveLength(2)
        expect(fake.requests.at(-1)?.model).toBe('upstream-name')
      }
    },
  },
  {
    name: 'receives a transcription of an upload, or an error that names the reason',
    async run({ openai, upstream }) {
      const file = new File([Buffer.from('RIFF')], 'a.wav', { type: 'audio/wav' })
      const call = openai.audio.transcriptions.create({ model: 'demo', file })
      if (upstream === 'messages') expect(await rejection(call)).toMatchObject({ status: 400, param: 'model' })
      else expect(typeof (await call).text).toBe('string')
    },
  },
]

const openaiAt = (path: string) => (origin: string, token: string) =>
  new OpenAI({ ...options(token), baseURL: `${origin}${path}`, organization: null, project: null, adminAPIKey: null })

const vertexRequest = { vertexai: true as const }

/** Clients that are the format's own with other addresses and headers: they run all its cases. */
export const derivedFamilies: readonly Family[] = [
  {
    package: 'openai',
    name: 'AzureOpenAI, chat completions',
    cases: [...chatCases, ...deploymentCases],
    clients: replaced('openai', azure),
  },
  { package: 'openai', name: 'AzureOpenAI, responses', cases: responsesCases, clients: replaced('openai', azure) },
  {
    package: 'openai',
    name: 'OpenAI at /openai/v1',
    cases: openaiCases,
    clients: replaced('openai', openaiAt('/openai/v1')),
  },
  {
    package: 'openai',
    name: 'OpenAI at /v1beta/openai',
    cases: openaiCases,
    clients: replaced('openai', openaiAt('/v1beta/openai')),
  },
  {
    package: '@anthropic-ai/foundry-sdk',
    name: 'AnthropicFoundry',
    cases: messagesCases,
    clients: replaced(
      'anthropic',
      (origin, token) => new AnthropicFoundry({ ...options(token), baseURL: `${origin}/anthropic` }) as never,
    ),
  },
  {
    package: '@anthropic-ai/vertex-sdk',
    name: 'AnthropicVertex',
    cases: messagesCases,
    clients: replaced(
      'anthropic',
      (origin, token) =>
        new AnthropicVertex({
          maxRetries: 0,
          logLevel: 'off',
          baseURL: `${origin}/v1`,
          region: 'us-east5',
          projectId: 'p',
          authClient: account(token),
        }) as never,
    ),
  },
  {
    package: '@google/genai',
    name: 'GoogleGenAI for Vertex AI, with a project',
    cases: vertexCases,
    clients: replaced(
      'google',
      (origin, token) =>
        new GoogleGenAI({
          ...vertexRequest,
          project: 'p',
          location: 'us-central1',
          googleAuthOptions: { authClient: account(token) },
          httpOptions: { baseUrl: origin },
        }),
    ),
  },
  {
    package: '@google/genai',
    name: 'GoogleGenAI for Vertex AI, express mode',
    cases: vertexCases,
    clients: replaced(
      'google',
      (origin, token) => new GoogleGenAI({ ...vertexRequest, apiKey: token, httpOptions: { baseUrl: origin } }),
    ),
  },
]
