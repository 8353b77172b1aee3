import type { Json, JsonObject } from '../base/json.ts'
import { countTokens, tokenize } from '../base/tokens.ts'

/** A close that the provider decides. */
export interface LiveClosing {
  readonly code: number
  readonly reason: string
}

/** The provider's side of a session of Gemini's Live API, without a socket. */
export interface LiveSession {
  /** The model that the setup names; empty before. */
  readonly model: string
  /** Returns the messages for one message of the client, or the close that rejects it. Never throws. */
  receive(text: string): readonly JsonObject[] | LiveClosing
}

/** Options of `createLiveSession`. */
export interface LiveSessionOptions {
  /** Existing model names; others are rejected. Default: every name exists. */
  readonly models?: readonly string[] | undefined
  /** The provider rejects the client's key, which it checks after the setup. */
  readonly wrongKey?: boolean
}

const object = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])
const string = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const textOf = (parts: Json | undefined): string =>
  list(parts)
    .map((part) => string(object(part).text))
    .join('')

const invalidData = 1007
const policyViolation = 1008

/** Members of a client's message. Each message has exactly one. */
const messageKinds = ['setup', 'clientContent', 'realtimeInput', 'toolResponse'] as const
type MessageKind = (typeof messageKinds)[number]

/** Members of a setup. */
const setupMembers: ReadonlySet<string> = new Set([
  'model',
  'generationConfig',
  'systemInstruction',
  'tools',
  'realtimeInputConfig',
  'sessionResumption',
  'contextWindowCompression',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'proactivity',
  'historyConfig',
])

const silence = btoa('\0'.repeat(480))

/**
 * Creates a machine that repeats the client's text. A text that contains the name of a declared function calls that function first. Audio
 * comes back in the next response with a voice.
 */
export function createLiveSession({ models, wrongKey = false }: LiveSessionOptions = {}): LiveSession {
  let model = ''
  let setup: JsonObject | undefined
  let history = 0
  let received: string[] = []
  let calls = 0
  /** Calls whose response the model waits for. */
  const pending = new Set<string>()

  const reject = (reason: string, code = invalidData): LiveClosing => ({ code, reason })

  const functions = (): string[] =>
    list(setup?.tools).flatMap((tool) =>
      list(object(tool).functionDeclarations).map((declaration) => string(object(declaration).name)),
    )

  const isSpoken = (): boolean => {
    const { responseModalities } = object(setup?.generationConfig)
    return responseModalities === undefined || list(responseModalities).includes('AUDIO')
  }

  const answer = (input: string): JsonObject[] => {
    const text = input === '' ? 'Hello!' : `You said: ${input}`
    const words = tokenize(text)
    const sounds = isSpoken() ? (received.length === 0 ? [silence] : received) : []
    const modelTurn = (part: JsonObject): JsonObject => ({ serverContent: { modelTurn: { parts: [part] } } })
    const transcript = isSpoken() && setup?.outputAudioTranscription !== undefined
    const prompt = history + Math.max(1, countTokens(input))
    const response = words.length + sounds.length * 10
    history = prompt + words.length
    received = []
    return [
      ...sounds.map((data) => modelTurn({ inlineData: { mimeType: 'audio/pcm;rate=24000', data } })),
      ...(isSpoken() ? [] : words.map((word) => modelTurn({ text: word }))),
      ...(transcript ? [{ serverContent: { outputTranscription: { text } } }] : []),
      { serverContent: { generationComplete: true } },
      {
        serverContent: { turnComplete: true },
        usageMetadata: {
          promptTokenCount: prompt,
          responseTokenCount: response,
          totalTokenCount: prompt + response,
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
          responseTokensDetails: [
            isSpoken() ? { modality: 'AUDIO', tokenCount: response } : { modality: 'TEXT', tokenCount: response },
          ],
        },
      },
    ]
  }

  const turn = (input: string): JsonObject[] => {
    const name = functions().find((one) => one !== '' && input.includes(one))
    if (name === undefined) return answer(input)
    const id = `function-call-${++calls}`
    pending.add(id)
    return [{ toolCall: { functionCalls: [{ id, name, args: {} }] } }]
  }

  const begin = (given: JsonObject): readonly JsonObject[] | LiveClosing => {
    if (setup !== undefined) return reject('setup must be the first message and only the first')
    const unknown = Object.keys(given).find((name) => !setupMembers.has(name))
    if (unknown !== undefined)
      return reject(`Invalid JSON payload received. Unknown name "${unknown}" at 'setup': Cannot find field.`)
    if (wrongKey) return reject('API key not valid. Please pass a valid API key.')
    const name = string(given.model)
    if (!name.startsWith('models/'))
      return reject('* BidiGenerateContentRequest.setup.model: unexpected model name format')
    model = name.slice('models/'.length)
    if (models?.includes(model) === false)
      return reject(
        `${name} is not found for API version v1beta, or is not supported for bidiGenerateContent.`,
        policyViolation,
      )
    setup = given
    return [{ setupComplete: {} }]
  }

  const answers: { readonly [K in MessageKind]: (given: JsonObject) => readonly JsonObject[] | LiveClosing } = {
    setup: begin,
    clientContent(given) {
      const turns = list(given.turns)
      if (given.turnComplete !== true) {
        history += turns.reduce<number>((sum, one) => sum + countTokens(textOf(object(one).parts)), 0)
        return []
      }
      return turn(textOf(object(turns.at(-1)).parts))
    },
    realtimeInput(given) {
      const { data } = object(given.audio)
      if (typeof data === 'string') received = [...received.slice(-99), data]
      if (typeof given.text === 'string') return turn(given.text)
      return given.audioStreamEnd === true || given.activityEnd !== undefined ? answer('') : []
    },
    toolResponse(given) {
      const responses = list(given.functionResponses).map(object)
      const unknown = responses.find(({ id }) => !pending.has(string(id)))
      if (unknown !== undefined) return reject('The function response has no matching function call.')
      for (const { id } of responses) pending.delete(string(id))
      return pending.size > 0 ? [] : answer(JSON.stringify(responses.map(({ response }) => response ?? null)))
    },
  }

  return {
    get model() {
      return model
    },
    receive(text) {
      let message: Json
      try {
        message = JSON.parse(text) as Json
      } catch {
        return reject('Request contains an invalid argument.')
      }
      const names = Object.keys(object(message))
      const [name = ''] = names
      const kind = messageKinds.find((one) => one === name)
      if (kind === undefined) return reject(`Invalid JSON payload received. Unknown name "${name}": Cannot find field.`)
      if (names.length > 1) return reject('Request contains an invalid argument.')
      if (setup === undefined && kind !== 'setup') return reject('setup must be the first message and only the first')
      return answers[kind](object(object(message)[kind]))
    },
  }
}
