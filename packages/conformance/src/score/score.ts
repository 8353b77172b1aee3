import type { Format } from '../base/recorded-traffic.ts'
import type { Check, ScoredFormat } from './check.ts'
import { checks, nameOf } from './checks.ts'
import { createContext, type Target } from './context.ts'
import { findModels, listModels, type ModelKind } from './models.ts'
import { outcomeOf } from './outcome.ts'
import { refusalOf, toldBy } from './rejection.ts'
import { type Report, type Result, reportOf } from './report.ts'

/** Whom to ask, and how. */
export interface ScoreOptions {
  /** The base URL, with or without `/v1` at its end. */
  readonly url: string
  /** The API key. Without one the checks of wrong tokens are not asked. */
  readonly token?: string
  /** The model that the clients of all four formats ask for. */
  readonly model?: string
  /** Another one for some formats. */
  readonly modelOf?: Readonly<Partial<Record<Format, string>>>
  /** Models for other work; those that are not named are looked for in the server's list, unless that is `false`. */
  readonly models?: Readonly<Partial<Record<Exclude<ModelKind, 'text'>, string>>> | false
  /** Only these formats; default all. */
  readonly only?: readonly ScoredFormat[]
  readonly skip?: readonly ScoredFormat[]
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** Checks at a time. Default 4. */
  readonly concurrency?: number
  /** Milliseconds that a check may take. Default: 2 min. */
  readonly timeoutMs?: number
  /** How often a check is asked again that met a 429, 503 or 529. Default 2. */
  readonly retries?: number
  /** In place of the global one. There are no realtime sessions over it. */
  readonly fetch?: typeof fetch
  /** Told of each check once it is over. */
  readonly onResult?: (result: Result, done: number, all: number) => void
  readonly signal?: AbortSignal
}

/** The server cannot be asked at all; the message says why. */
export class ScoreError extends Error {
  override readonly name = 'ScoreError'
}

/** Returns the base URL of the four formats: without `/v1` and trailing slashes. */
function originOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ScoreError(`'${url}' is no URL that begins with http:// or https://`)
  return url.replace(/\/+$/, '').replace(/\/v1(?:beta)?$/, '')
}

/**
 * Asks a server what the official SDKs ask, and says what it could.
 * @throws ScoreError if there is nobody at the URL, or no model to ask
 */
export async function score(options: ScoreOptions): Promise<Report> {
  const begun = Date.now()
  const target = await targetOf(options)
  const { only, skip = [], concurrency = 4, onResult } = options
  const wanted = checks.filter(({ format }) => (only?.includes(format) ?? true) && !skip.includes(format))
  let calls = 0
  const results = new Map<Check, Result>()
  const closed = new Map<ScoredFormat, string>()
  const take = async (check: Check): Promise<void> => {
    const from = Date.now()
    const outcome = await outcomeOf(check, target, closed, options, () => calls++)
    if (check.door === true && outcome.verdict === 'not served') closed.set(check.format, outcome.why ?? '')
    const { format, feature, proves } = check
    const why = outcome.why === undefined ? undefined : withoutToken(outcome.why, target.token)
    const result = {
      name: nameOf(check),
      format,
      feature,
      proves,
      verdict: outcome.verdict,
      why,
      ms: Date.now() - from,
    }
    results.set(check, result)
    onResult?.(result, results.size, wanted.length)
  }
  // Checks of authentication come first.
  const [doors, others] = [true, false].map((is) => wanted.filter(({ door = false }) => door === is))
  await inTurn(doors ?? [], concurrency, take)
  mustBeLetIn([...results.values()])
  await inTurn(others ?? [], concurrency, take)
  options.signal?.throwIfAborted()
  return reportOf(
    target,
    wanted.flatMap((check) => results.get(check) ?? []),
    { begun, calls, kinds: new Set(wanted.map(({ needs = 'text' }) => needs)) },
  )
}

/** If every endpoint rejects the token, the remaining checks are pointless. */
function mustBeLetIn(doors: readonly Result[]): void {
  const asked = doors.filter(({ verdict }) => verdict !== 'not asked' && verdict !== 'not served')
  const [first] = asked
  if (first !== undefined && asked.every(({ why = '' }) => /^40[13]: /.test(why)))
    throw new ScoreError(`Nobody is let in with this token (${first.name}, ${first.why})`)
}

async function targetOf(options: ScoreOptions): Promise<Target> {
  const { url, token, model, models, headers = {}, timeoutMs = 120_000 } = options
  const origin = originOf(url)
  const target: Target = {
    origin,
    token,
    headers,
    fetch: options.fetch ?? fetch,
    socketless: options.fetch !== undefined,
    modelOf: options.modelOf ?? {},
    timeoutMs,
    models: {},
  }
  const { listed, refused } = await reach(target)
  if (model === undefined && Object.keys(target.modelOf).length === 0) {
    const some = `${listed.slice(0, 12).join(', ')}${listed.length > 12 ? ', …' : ''}`
    const known = refused === undefined ? ` It lists ${some || 'none'}.` : ` Its list was refused (${refused}).`
    throw new ScoreError(`Say which model to ask.${known}`)
  }
  const text = model === undefined ? {} : { text: model, completion: model }
  return { ...target, models: models === false ? text : { ...findModels(listed), ...text, ...models } }
}

/** The models that the server lists, or why it does not. */
async function reach(target: Target): Promise<{ readonly listed: readonly string[]; readonly refused?: string }> {
  const context = createContext(target, { call: () => {} }, AbortSignal.timeout(target.timeoutMs))
  try {
    return { listed: await listModels(context.openai) }
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal !== undefined) return { listed: [], refused: withoutToken(toldBy(refusal), target.token) }
    // A list that cannot be read is a check’s affair; a server that is not there is ours.
    const cause = connectionFault(error)
    if (cause !== undefined) throw new ScoreError(`There is nobody at ${target.origin}: ${cause}`)
    return { listed: [], refused: 'it cannot be read' }
  }
}

/** Returns the cause of a broken connection: the last cause with a message. */
function connectionFault(error: unknown): string | undefined {
  let told: string | undefined
  let broken = false
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    broken ||= cause.constructor.name === 'APIConnectionError' || cause.message === 'fetch failed'
    const code = 'code' in cause && typeof cause.code === 'string' ? `${cause.code} ` : ''
    if (cause.message !== '' || code !== '') told = `${code}${cause.message}`.trim()
  }
  return broken ? told : undefined
}

/** At most so many at a time, in order. */
async function inTurn<Item>(items: readonly Item[], width: number, take: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items]
  const work = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await take(item)
  }
  await Promise.all(Array.from({ length: Math.max(1, width) }, work))
}

/** Servers may answer with what they were sent. */
const withoutToken = (text: string, token: string | undefined): string =>
  token === undefined || token === '' ? text : text.replaceAll(token, '***')
