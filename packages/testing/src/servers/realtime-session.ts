import type { Json, JsonObject } from '../base/json.ts'
import { countTokens, tokenize } from '../base/tokens.ts'

/** The provider's side of one realtime session, without a socket: client events in, server events out. */
export interface RealtimeSession {
  /** Returns the events before the client's first one. */
  openingEvents(): JsonObject[]
  /** Returns the events for one text message. Never throws: an error becomes an `error` event. */
  receive(text: string): JsonObject[]
}

const object = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
const string = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Returns a short audible tone, for spoken answers without audio to echo: 24 kHz, 16 bit, mono. */
function tone(milliseconds: number): string {
  let binary = ''
  for (let index = 0; index < milliseconds * 24; index++) {
    const sample = Math.round(8000 * Math.sin((2 * Math.PI * 440 * index) / 24_000)) & 0xffff
    binary += String.fromCharCode(sample & 0xff, sample >> 8)
  }
  return btoa(binary)
}

/**
 * Creates a machine that uses the events of the general-availability version. It repeats a text; appended audio comes
 * back at once, and forms the next spoken response.
 */
export function createRealtimeSession(model: string): RealtimeSession {
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${String(++ids).padStart(21, '0')}`
  const event = (type: string, fields: JsonObject = {}): JsonObject => ({ type, event_id: newId('event'), ...fields })
  const conversation = newId('conv')
  let lastItem: string | null = null
  let received: string[] = []
  let output = ''
  let inputTokens = 0

  let session: JsonObject = {
    type: 'realtime',
    object: 'realtime.session',
    id: newId('sess'),
    model,
    output_modalities: ['audio'],
    instructions: '',
    tools: [],
    tool_choice: 'auto',
    max_output_tokens: 'inf',
    tracing: null,
    truncation: 'auto',
    prompt: null,
    expires_at: Math.floor(Date.now() / 1000) + 3600,
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: 24_000 },
        transcription: null,
        noise_reduction: null,
        turn_detection: null,
      },
      output: { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'alloy', speed: 1 },
    },
    include: null,
  }

  const failed = (message: string, param: string | null, cause: JsonObject): JsonObject[] => [
    event('error', {
      error: {
        type: 'invalid_request_error',
        code: 'invalid_value',
        message,
        param,
        event_id: typeof cause.event_id === 'string' ? cause.event_id : null,
      },
    }),
  ]

  const added = (item: JsonObject): JsonObject[] => {
    const previous_item_id = lastItem
    lastItem = string(item.id)
    return ['conversation.item.added', 'conversation.item.done'].map((type) => event(type, { previous_item_id, item }))
  }

  const createItem = (given: JsonObject): JsonObject[] => {
    const item = object(given.item)
    if (typeof item.type !== 'string') return failed("Missing required parameter: 'item.type'.", 'item.type', given)
    const texts = list(item.content).map((part) => string(object(part).text) || string(object(part).transcript))
    const text = [...texts, string(item.output)].join('')
    if (item.role !== 'assistant' && text !== '') output = text
    inputTokens += countTokens(text)
    return added({ ...item, id: string(item.id) || newId('item'), object: 'realtime.item', status: 'completed' })
  }

  const respond = (given: JsonObject): JsonObject[] => {
    const requested = object(given.response)
    const modalities = list(requested.output_modalities ?? session.output_modalities)
    const spoken = modalities.includes('audio')
    const response: JsonObject = {
      object: 'realtime.response',
      id: newId('resp'),
      status: 'in_progress',
      status_details: null,
      output: [],
      conversation_id: conversation,
      output_modalities: modalities,
      max_output_tokens: 'inf',
      usage: null,
      metadata: requested.metadata ?? null,
    }
    const text = output === '' ? 'Hello!' : `You said: ${output}`
    const words = tokenize(text)
    const item: JsonObject = {
      id: newId('item'),
      object: 'realtime.item',
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    }
    const place: JsonObject = { response_id: response.id ?? null, item_id: item.id ?? null, output_index: 0 }
    const inPart: JsonObject = { ...place, content_index: 0 }
    const kind = spoken ? 'response.output_audio_transcript' : 'response.output_text'
    const part: JsonObject = spoken ? { type: 'audio', transcript: text } : { type: 'text', text }
    const sounds = spoken ? (received.length === 0 ? [tone(100)] : received) : []
    const done: JsonObject = {
      ...item,
      status: 'completed',
      content: [spoken ? { type: 'output_audio', transcript: text } : { type: 'output_text', text }],
    }
    const audioTokens = sounds.length * 10
    const input = Math.max(1, inputTokens)
    const usage: JsonObject = {
      total_tokens: input + words.length + audioTokens,
      input_tokens: input,
      output_tokens: words.length + audioTokens,
      input_token_details: {
        text_tokens: input,
        audio_tokens: 0,
        image_tokens: 0,
        cached_tokens: 0,
        cached_tokens_details: { text_tokens: 0, audio_tokens: 0, image_tokens: 0 },
      },
      output_token_details: { text_tokens: words.length, audio_tokens: audioTokens },
    }
    inputTokens += words.length
    received = []
    const previous_item_id = lastItem
    lastItem = string(item.id)
    return [
      event('response.created', { response }),
      event('response.output_item.added', { response_id: place.response_id ?? null, output_index: 0, item }),
      event('conversation.item.added', { previous_item_id, item }),
      event('response.content_part.added', {
        ...inPart,
        part: spoken ? { type: 'audio', transcript: '' } : { type: 'text', text: '' },
      }),
      ...words.map((delta) => event(`${kind}.delta`, { ...inPart, delta })),
      ...sounds.map((delta) => event('response.output_audio.delta', { ...inPart, delta })),
      ...(spoken ? [event('response.output_audio.done', inPart)] : []),
      event(`${kind}.done`, { ...inPart, ...(spoken ? { transcript: text } : { text }) }),
      event('response.content_part.done', { ...inPart, part }),
      event('response.output_item.done', { response_id: place.response_id ?? null, output_index: 0, item: done }),
      event('conversation.item.done', { previous_item_id, item: done }),
      event('response.done', { response: { ...response, status: 'completed', output: [done], usage } }),
    ]
  }

  const answers: { readonly [type: string]: (given: JsonObject) => JsonObject[] } = {
    'session.update': (given) => {
      session = { ...session, ...object(given.session) }
      return [event('session.updated', { session })]
    },
    'conversation.item.create': createItem,
    'conversation.item.delete': (given) => [event('conversation.item.deleted', { item_id: given.item_id ?? null })],
    'input_audio_buffer.append': (given) => {
      const { audio } = given
      if (typeof audio !== 'string') return failed("Missing required parameter: 'audio'.", 'audio', given)
      // Bounded, because a demo may run for long.
      received = [...received.slice(-99), audio]
      const place = { response_id: 'resp_echo', item_id: 'item_echo', output_index: 0, content_index: 0 }
      return [event('response.output_audio.delta', { ...place, delta: audio })]
    },
    'input_audio_buffer.commit': () => {
      const item_id = newId('item')
      const content = [{ type: 'input_audio', transcript: null }]
      return [
        event('input_audio_buffer.committed', { previous_item_id: lastItem, item_id }),
        ...added({ id: item_id, object: 'realtime.item', type: 'message', status: 'completed', role: 'user', content }),
      ]
    },
    'input_audio_buffer.clear': () => {
      received = []
      return [event('input_audio_buffer.cleared')]
    },
    'response.create': respond,
    // A response is sent at once, so there is never one to cancel.
    'response.cancel': (given) => failed('Cancellation failed: no active response found', null, given),
  }

  return {
    openingEvents: () => [event('session.created', { session })],
    receive(text) {
      let given: JsonObject
      try {
        given = object(JSON.parse(text) as Json)
      } catch {
        return failed('We could not parse your message: it is not valid JSON.', null, {})
      }
      const { type } = given
      if (typeof type !== 'string') return failed("Missing required parameter: 'type'.", 'type', given)
      const answer = Object.hasOwn(answers, type) ? answers[type] : undefined
      if (answer === undefined)
        return failed(
          `Invalid value: '${type}'. Supported values are: ${Object.keys(answers)
            .map((name) => `'${name}'`)
            .join(', ')}.`,
          'type',
          given,
        )
      return answer(given)
    },
  }
}
