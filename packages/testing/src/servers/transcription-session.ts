import type { Json, JsonObject } from '../base/json.ts'
import { tokenize } from '../base/tokens.ts'
import type { RealtimeSession } from './realtime-session.ts'

const object = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

/** Bytes of one second of audio: 24 kHz, 16 bit, mono. */
const bytesPerSecond = 48_000
const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** Models that the provider bills by the duration of the audio. */
const isBilledByDuration = (model: string): boolean => model.startsWith('whisper')

/**
 * Creates a machine for transcription sessions (`?intent=transcription`), in the events of the general-availability version and in those
 * of the beta (`transcription_session.update`). Each commit is transcribed as the number of its bytes.
 *
 * @param models existing model names; others are rejected. Default: every name exists
 */
export function createTranscriptionSession(models?: readonly string[]): RealtimeSession {
  let ids = 0
  const newId = (prefix: string): string => `${prefix}_${String(++ids).padStart(21, '0')}`
  const event = (type: string, fields: JsonObject = {}): JsonObject => ({ type, event_id: newId('event'), ...fields })
  let transcription: JsonObject = {}
  let bytes = 0
  let lastItem: string | null = null
  const id = newId('sess')

  const session = (): JsonObject => ({
    type: 'transcription',
    object: 'realtime.transcription_session',
    id,
    expires_at: Math.floor(Date.now() / 1000) + 3600,
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: 24_000 },
        transcription: transcription.model === undefined ? null : transcription,
        noise_reduction: null,
        turn_detection: null,
      },
    },
    include: null,
  })

  const failed = (message: string, param: string | null, cause: JsonObject, code = 'invalid_value'): JsonObject[] => [
    event('error', {
      error: {
        type: 'invalid_request_error',
        code,
        message,
        param,
        event_id: typeof cause.event_id === 'string' ? cause.event_id : null,
      },
    }),
  ]

  /** @param at path of the new settings in the event */
  const update = (given: JsonObject, settings: JsonObject, at: string, done: string): JsonObject[] => {
    const { model } = settings
    if (model !== undefined && (typeof model !== 'string' || models?.includes(model) === false))
      return failed(`The model '${String(model)}' does not exist.`, `${at}.model`, given, 'model_not_found')
    transcription = { ...transcription, ...settings }
    return [event(done, { session: session() })]
  }

  const answers: { readonly [type: string]: (given: JsonObject) => JsonObject[] } = {
    'session.update': (given) => {
      const { type, model, audio } = object(given.session)
      if (type !== 'transcription')
        return failed('Passing a realtime session update event to a transcription session is not allowed.', null, given)
      if (model !== undefined) return failed("Unknown parameter: 'session.model'.", 'session.model', given)
      const settings = object(object(object(audio).input).transcription)
      return update(given, settings, 'session.audio.input.transcription', 'session.updated')
    },
    'transcription_session.update': (given) => {
      const settings = object(object(given.session).input_audio_transcription)
      return update(given, settings, 'session.input_audio_transcription', 'transcription_session.updated')
    },
    'input_audio_buffer.append': (given) => {
      const { audio } = given
      if (typeof audio !== 'string' || !isBase64(audio))
        return failed("Invalid 'audio'. Expected base64-encoded audio bytes.", 'audio', given)
      bytes += atob(audio).length
      return []
    },
    'input_audio_buffer.clear': () => {
      bytes = 0
      return [event('input_audio_buffer.cleared')]
    },
    'input_audio_buffer.commit': (given) => {
      if (bytes === 0)
        return failed(
          'Error committing input audio buffer: buffer too small.',
          null,
          given,
          'input_audio_buffer_commit_empty',
        )
      if (typeof transcription.model !== 'string')
        return failed('The session has no transcription model.', 'session.audio.input.transcription.model', given)
      const item_id = newId('item')
      const previous_item_id = lastItem
      lastItem = item_id
      const transcript = `${bytes} bytes of audio.`
      const words = tokenize(transcript)
      const input = Math.ceil(bytes / 4800)
      const usage: JsonObject = isBilledByDuration(transcription.model)
        ? { type: 'duration', seconds: bytes / bytesPerSecond }
        : {
            type: 'tokens',
            total_tokens: input + words.length,
            input_tokens: input,
            input_token_details: { text_tokens: 0, audio_tokens: input },
            output_tokens: words.length,
          }
      bytes = 0
      const place = { item_id, content_index: 0 }
      return [
        event('input_audio_buffer.committed', { previous_item_id, item_id }),
        ...words.map((delta) => event('conversation.item.input_audio_transcription.delta', { ...place, delta })),
        event('conversation.item.input_audio_transcription.completed', { ...place, transcript, usage }),
      ]
    },
  }

  return {
    openingEvents: () => [event('session.created', { session: session() })],
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
      return answer === undefined
        ? failed(`Invalid value: '${type}'. It is not supported in transcription sessions.`, 'type', given)
        : answer(given)
    },
  }
}
