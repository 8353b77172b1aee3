import type { Format } from '../base/recorded-traffic.ts'
import type { Check, ScoredFormat } from './check.ts'
import { checks, nameOf } from './checks.ts'
import { createContext, type Target } from './context.ts'
import { findModels, listModels, type ModelKind } from './models.ts'
import { outcomeOf } from './outcome.ts'
import { describeRejection, rejectionOf } from './rejection.ts'
import { type Report, type Result, reportOf } from './report.ts'

/** Options of `score`. */
export interface ScoreOptions {
  /** Base URL, with or without `/v1`. */
  readonly url: string
  /** API key. Without it, checks of wrong tokens are not run. */
  readonly token?: string
  /** Text model for all four generation formats. */
  readonly model?: string
  /** Text models of single formats, where they differ. */
  readonly modelOf?: Readonly<Partial<Record<Format, string>>>
  /**
   * Models for other operations. By default, missing ones are chosen from the server's list by name; `false` disables
   * this.
   */
  readonly models?: Readonly<Partial<Record<Exclude<ModelKind, 'text'>, string>>> | false
  /** Formats to check. Default: all. */
  readonly only?: readonly ScoredFormat[]
  readonly skip?: readonly ScoredFormat[]
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** Number of checks that run concurrently. Default 4. */
  readonly concurrency?: number
  /** Time limit of a check in milliseconds. Default: 2 minutes. */
  readonly timeoutMs?: number
  /** Number of retries of a check after status 429, 503 or 529. Default 2. */
  readonly retries?: number
  /** Replacement of the global `fetch`. Realtime sessions are not checked with it. */
  readonly fetch?: typeof fetch
  /** Called after each check. */
  readonly onResult?: (result: Result, done: number, all: number) => void
  readonly signal?: AbortSignal
}

/** The server cannot be scored; the message contains the reason. */
export class ScoreError extends Error {
  override readonly name = 'ScoreError'
}

/** Returns the origin and base path without `/v1` and trailing slashes. */
function originOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ScoreError(`Invalid URL '${url}'. Expected a URL that begins with http:// or https://`)
  return url.replace(/\/+$/, '').replace(/\/v1(?:beta)?$/, '')
}

/**
 * Scores a server with the official SDKs, check by check.
 * @throws ScoreError if the server is unreachable, rejects the token, or no model is given
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
    if (check.isEntry === true && outcome.verdict === 'not served') closed.set(check.format, outcome.why ?? '')
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
  // Authentication is checked first.
  const [doors, others] = [true, false].map((is) => wanted.filter(({ isEntry = false }) => isEntry === is))
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

/** Throws if every endpoint rejects the token: the other checks would be pointless. */
function mustBeLetIn(doors: readonly Result[]): void {
  const checked = doors.filter(({ verdict }) => verdict !== 'skipped' && verdict !== 'not served')
  const [first] = checked
  if (first !== undefined && checked.every(({ why = '' }) => /^40[13]: /.test(why)))
    throw new ScoreError(`The server rejects this token (${first.name}, ${first.why})`)
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
    const known = refused === undefined ? ` It lists ${some || 'none'}.` : ` The model list was rejected (${refused}).`
    throw new ScoreError(`Missing model: pass the name of a model.${known}`)
  }
  const text = model === undefined ? {} : { text: model, completion: model }
  return { ...target, models: models === false ? text : { ...findModels(listed), ...text, ...models } }
}

/** Lists the server's models, or returns the reason for a failure. */
async function reach(target: Target): Promise<{ readonly listed: readonly string[]; readonly refused?: string }> {
  const context = createContext(target, { call: () => {} }, AbortSignal.timeout(target.timeoutMs))
  try {
    return { listed: await listModels(context.openai) }
  } catch (error) {
    const refusal = rejectionOf(error)
    if (refusal !== undefined) return { listed: [], refused: withoutToken(describeRejection(refusal), target.token) }
    // An unreadable list only fails its check; an unreachable server ends the run.
    const cause = connectionFault(error)
    if (cause !== undefined) throw new ScoreError(`Cannot reach ${target.origin}: ${cause}`)
    return { listed: [], refused: 'the list is unreadable' }
  }
}

/** Returns the cause of a broken connection: the innermost cause with a message. */
function connectionFault(error: unknown): string | undefined {
  let reported: string | undefined
  let broken = false
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    broken ||= cause.constructor.name === 'APIConnectionError' || cause.message === 'fetch failed'
    const code = 'code' in cause && typeof cause.code === 'string' ? `${cause.code} ` : ''
    if (cause.message !== '' || code !== '') reported = `${code}${cause.message}`.trim()
  }
  return broken ? reported : undefined
}

/** Processes items in order with limited concurrency. */
async function inTurn<Item>(items: readonly Item[], width: number, take: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items]
  const work = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await take(item)
  }
  await Promise.all(Array.from({ length: Math.max(1, width) }, work))
}

/** Removes the token: servers may echo what they received. */
const withoutToken = (text: string, token: string | undefined): string =>
  token === undefined || token === '' ? text : text.replaceAll(token, '***')
