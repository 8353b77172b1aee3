import { shortenObject } from '../../compare/shorten.ts'
import { formatNamed } from '../formats/index.ts'
import { noRounds, type Round, type Rounds } from './rounds.ts'

export const conversationKey = 'modelgate-conversation'
/** Limit in characters of the stored events of one call: browsers store about 5 million in total. */
const longestEvents = 200_000

type StoredRound = Omit<Round, 'exchange'> & {
  readonly exchange: Omit<Round['exchange'], 'format'> & { readonly format: string }
}

/** A conversation as it is stored and exported. */
export interface StoredConversation {
  readonly version: 1
  readonly last: number | undefined
  readonly rounds: readonly StoredRound[]
}

/** Returns the conversation as JSON, without credentials. A call that still runs is stored as stopped. */
export const storedConversation = ({ all, last }: Rounds, longest = Number.POSITIVE_INFINITY): StoredConversation => ({
  version: 1,
  last,
  rounds: all.map((round): StoredRound => {
    const { format, events, outcome, ...exchange } = round.exchange
    const length = events.reduce((sum, { data }) => sum + data.length, 0)
    return {
      ...round,
      exchange: {
        ...exchange,
        format: format.id,
        events: length <= longest ? events : [],
        outcome: outcome === 'running' ? 'stopped' : outcome,
      },
    }
  }),
})

/** Reads `storedConversation`. Returns the reason if it is none: `it has no list of rounds`. */
export function readConversation(value: unknown): Rounds | string {
  const { version, last, rounds } = (value ?? {}) as Partial<StoredConversation>
  if (version !== 1) return `it is not a conversation that the Playground exported`
  if (!Array.isArray(rounds)) return 'it has no list of rounds'
  const damaged = (rounds as readonly StoredRound[]).findIndex((round) => !isRound(round))
  if (damaged >= 0) return `round ${damaged + 1} is damaged`
  const all = (rounds as readonly StoredRound[]).map(
    (round): Round => ({
      ...round,
      parent: round.parent,
      exchange: { ...round.exchange, format: formatNamed(round.exchange.format) },
    }),
  )
  if (new Set(all.map(({ id }) => id)).size < all.length) return 'two rounds have the same id'
  return { all, last: all.some(({ id }) => id === last) ? last : all.at(-1)?.id }
}

type Unchecked = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Unchecked => typeof value === 'object' && value !== null

const isListOf = (value: unknown, fits: (item: Unchecked) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => isObject(item) && fits(item))

const areTexts = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string')

const isAbsentOr = (type: 'string' | 'number', ...values: unknown[]): boolean =>
  values.every((value) => value === undefined || typeof value === type)

const areTextsIn = (value: unknown): boolean => isObject(value) && areTexts(...Object.values(value))

/**
 * A file may be damaged: a round that cannot be shown would leave an empty page, after each reload too. A parent precedes its
 * children, so there are no cycles.
 */
function isRound(round: unknown): boolean {
  if (!isObject(round)) return false
  const { id, parent, question, model, exchange, facts } = round
  return (
    Number.isSafeInteger(id) &&
    (parent === undefined || (Number.isSafeInteger(parent) && Number(parent) < Number(id))) &&
    areTexts(model) &&
    isQuestion(question) &&
    isExchange(exchange) &&
    (facts === undefined || areFacts(facts))
  )
}

const isFile = ({ type, data, name }: Unchecked): boolean => areTexts(type, data, name)

const isQuestion = (question: unknown): boolean =>
  isObject(question) &&
  areTexts(question.text) &&
  isListOf(question.images, isFile) &&
  (question.files === undefined || isListOf(question.files, isFile)) &&
  (question.results === undefined ||
    isListOf(
      question.results,
      ({ call, content }) => isObject(call) && areTexts(call.id, call.name, call.input, content),
    ))

function isExchange(exchange: unknown): boolean {
  if (!isObject(exchange)) return false
  const { request, responseHeaders, status, streamLosses, firstPieceAt, endedAt, outcome, events, pieces } = exchange
  return (
    ['stopped', 'finished', 'failed'].includes(outcome as string) &&
    isAbsentOr('number', status, firstPieceAt, endedAt) &&
    isAbsentOr('string', streamLosses) &&
    (responseHeaders === undefined || areTextsIn(responseHeaders)) &&
    isListOf(
      events,
      ({ event, data, at }) => areTexts(data) && typeof at === 'number' && isAbsentOr('string', event),
    ) &&
    isListOf(pieces, isPiece) &&
    isObject(request) &&
    areTexts(request.path) &&
    areTextsIn(request.headers) &&
    isObject(request.body)
  )
}

function isPiece(piece: Unchecked): boolean {
  switch (piece.type) {
    case 'text':
    case 'reasoning':
      return areTexts(piece.text)
    case 'tool-call':
      return typeof piece.index === 'number' && isAbsentOr('string', piece.id, piece.name, piece.input, piece.signature)
    case 'reasoning-signature':
      return areTexts(piece.signature)
    case 'usage':
      return isObject(piece.usage) && isAbsentOr('number', ...Object.values(piece.usage))
    case 'finish':
      return areTexts(piece.reason)
    case 'error':
      return areTexts(piece.message)
    default:
      return false
  }
}

const areFacts = (facts: unknown): boolean =>
  isObject(facts) &&
  areTexts(facts.requestId) &&
  typeof facts.durationMs === 'number' &&
  (facts.usage === undefined || (isObject(facts.usage) && isAbsentOr('number', ...Object.values(facts.usage)))) &&
  (facts.units === undefined || (isObject(facts.units) && isAbsentOr('number', ...Object.values(facts.units)))) &&
  (facts.cost === undefined ||
    (isObject(facts.cost) && typeof facts.cost.amount === 'number' && areTexts(facts.cost.currency))) &&
  isListOf(facts.attempts, ({ reason, startedMs }) => areTexts(reason) && typeof startedMs === 'number') &&
  isObject(facts.losses) &&
  typeof facts.losses.warnings === 'number' &&
  typeof facts.losses.notes === 'number' &&
  (facts.skipped === undefined ||
    isListOf(facts.skipped, ({ upstream, model, reason }) => areTexts(upstream, model, reason)))

export function readStoredRounds(key: string): Rounds {
  try {
    const rounds = readConversation(JSON.parse(localStorage.getItem(key) ?? 'null'))
    return typeof rounds === 'string' ? noRounds : rounds
  } catch {
    // The browser blocks storage, or the text is damaged.
    return noRounds
  }
}

/** What was too large to store. Storage may also be full or blocked: the conversation then lasts as long as the page. */
export type NotKept = 'attachments' | 'conversation' | undefined

/** Stores the conversation on this device: without the events, then without the attachments, if there is not enough room. */
export function storeRounds(key: string, rounds: Rounds): NotKept {
  const put = (stored: Rounds, events: number): boolean => {
    try {
      localStorage.setItem(key, JSON.stringify(storedConversation(stored, events)))
      return true
    } catch {
      return false
    }
  }
  if (rounds.all.length === 0) {
    try {
      localStorage.removeItem(key)
    } catch {
      // Nothing was stored.
    }
    return undefined
  }
  if (put(rounds, longestEvents) || put(rounds, 0)) return undefined
  return put(withoutAttachments(rounds), 0) ? 'attachments' : 'conversation'
}

/** Keeps the names of attachments, and the start of their content in the requests. */
const withoutAttachments = ({ all, last }: Rounds): Rounds => ({
  last,
  all: all.map((round) => {
    const { question, exchange } = round
    const emptied = <T extends { readonly data: string }>(file: T): T => ({ ...file, data: '' })
    const { request } = exchange
    return {
      ...round,
      question: {
        ...question,
        images: question.images.map(emptied),
        ...(question.files === undefined ? {} : { files: question.files.map(emptied) }),
      },
      exchange: { ...exchange, request: { ...request, body: shortenObject(request.body) } },
    }
  }),
})
