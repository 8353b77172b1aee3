import { GatewayError } from '@modelgate/core'
import { settleWithin } from '../base/async.ts'
import type { MeterStore } from '../contract/meter-store.ts'
import { type Storage, StorageAwayError } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'
import type { LedgerSink } from '../ledger/ledger-record.ts'
import { type CountUsage, countsOf, daysOf, type UsageQuery, type UsageSource } from '../limits/usage.ts'
import { fromBillionths } from '../prices/money.ts'
import { isId } from '../tokens/manage.ts'
import { createTaskQueue, mapWithWorkers } from './concurrency.ts'
import { ledgerRows } from './ledger-rows.ts'
import { maxReportRows, orderRows, type UsageReportRow } from './report-rows.ts'

/** Selects the calls of a report. */
export interface UsageReportQuery extends UsageQuery {
  /** Id of a token or of another caller. Default: all. */
  readonly token?: string
  /** The model name that clients sent. Default: all. */
  readonly model?: string
}

/** A token in a report. */
export interface UsageReportToken {
  readonly id: string
  readonly name?: string
  readonly owner?: string
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
  /** Milliseconds since 1970. */
  readonly revokedAt?: number
  readonly limits: readonly CountUsage[]
  readonly budgets: readonly CountUsage[]
}

/** Calls of all tokens, by token, model and day. */
export interface UsageReport {
  /** First and last day, in UTC. */
  readonly from: string
  readonly to: string
  /** ISO 4217. Absent: no cost is known. */
  readonly currency?: string
  /**
   * `'ledger'`: all calls of the ledger, including rejected ones and those without an issued token. `'counters'`: the calls with issued
   * tokens that the storage has counted.
   */
  readonly source: 'ledger' | 'counters'
  /** Ordered by day, token and model. */
  readonly rows: readonly UsageReportRow[]
  /** The issued tokens, the oldest first. */
  readonly tokens: readonly UsageReportToken[]
  /** The report is incomplete, because it has more than 10,000 rows, 1,000 tokens or 2,000,000 records. */
  readonly truncated?: true
}

/** Tokens of one page of the list, and highest number of tokens in a report. */
const pageSize = 100
const maxTokens = 1_000
/** Tokens that a report reads at the same time. */
const concurrentTokens = 8

/** Reports read many rows and files. Further ones wait, and are rejected if too many wait. */
const concurrentReports = 2
const waitingReports = 20
/** Milliseconds for a report: a ledger of the host may never respond. */
const reportMs = 120_000
const flushMs = 5_000

interface ReportSource extends UsageSource {
  readonly storage: Pick<Storage, 'tokens' | 'meters'>
  readonly ledger: LedgerSink | undefined
}

/** Ends a report that its reader no longer waits for: an AbortSignal, or the `signal` of a request. */
export interface ReportSignal {
  readonly aborted: boolean
}

type ReadReport = (query?: UsageReportQuery, options?: { readonly signal?: ReportSignal }) => Promise<UsageReport>

/** Creates the function that returns the usage of all tokens. It rejects as `Tokens.report`. */
export function createReports(source: ReportSource): ReadReport {
  const queued = createTaskQueue(concurrentReports, waitingReports, () => {
    throw unavailable('Too many usage reports are being read. Try again shortly.', 5)
  })
  return async (query = {}, { signal } = {}) => {
    const selection = selectionOf(query, source.now())
    return queued(async () => {
      let isLate = false
      const checkSignal = (): void => {
        if (signal?.aborted === true) throw new GatewayError('cancelled', 'The client closed the request.')
        if (isLate) throw new Error('the report was given up')
      }
      checkSignal()
      return settleWithin(readReport(source, { ...selection, checkSignal }), 'usage report', reportMs).finally(() => {
        isLate = true
      })
    })
  }
}

interface Selection {
  readonly from: string
  readonly to: string
  readonly token: string | undefined
  readonly model: string | undefined
}

const selectionOf = (query: UsageReportQuery, now: number): Selection => ({
  ...daysOf(query, now),
  token: textOf(query, 'token'),
  model: textOf(query, 'model'),
})

async function readReport(
  { storage, ledger, prices, homeOf }: ReportSource,
  { from, to, token, model, checkSignal }: Selection & { checkSignal(): void },
): Promise<UsageReport> {
  try {
    const found = await tokensOf(storage, token, checkSignal)
    const source = ledger?.read === undefined ? 'counters' : 'ledger'
    let isTruncated = found.isTruncated
    let currency = prices?.currency
    let rows: UsageReportRow[] = []
    if (ledger !== undefined && source === 'ledger') {
      await flush(ledger)
      const summed = await ledgerRows((days) => ledger.read?.(days) ?? [], {
        from,
        to,
        token,
        model,
        currency,
        checkSignal,
      })
      rows = [...summed.rows]
      currency = summed.currency
      isTruncated ||= summed.isTruncated
    }
    const tokens = await mapWithWorkers(found.tokens, concurrentTokens, async (record) => {
      checkSignal()
      const counts = await countsOf(storage.meters, record.id, record, homeOf(record))
      if (source === 'counters') {
        if (rows.length > maxReportRows) isTruncated = true
        else rows.push(...(await counterRows(storage.meters, record.id, { from, to, model })))
      }
      return reportToken(record, counts)
    })
    const names = new Map(tokens.map(({ id, name }) => [id, name]))
    const ordered = orderRows(rows)
    if (ordered.length > maxReportRows) isTruncated = true
    return {
      from,
      to,
      ...(currency === undefined ? {} : { currency }),
      source,
      rows: ordered.slice(-maxReportRows).map((row) => {
        const name = row.token === null ? undefined : names.get(row.token)
        return name === undefined ? row : { ...row, name }
      }),
      tokens,
      ...(isTruncated ? { truncated: true } : {}),
    }
  } catch (error) {
    throw toReportError(error)
  }
}

/** Writes the calls that have just ended. If the disk is full, the report contains the written ones. */
async function flush(ledger: LedgerSink): Promise<void> {
  try {
    if (ledger.flush !== undefined) await settleWithin(ledger.flush(), 'flush of the ledger', flushMs)
  } catch {}
}

async function tokensOf(
  { tokens: store }: Pick<Storage, 'tokens'>,
  id: string | undefined,
  checkSignal: () => void,
): Promise<{ readonly tokens: readonly TokenRecord[]; readonly isTruncated: boolean }> {
  if (id !== undefined) {
    const record = isId(id) ? await store.get(id) : undefined
    return { tokens: record === undefined ? [] : [record], isTruncated: false }
  }
  const tokens: TokenRecord[] = []
  let after: string | undefined
  do {
    checkSignal()
    const page = await store.list({ limit: pageSize, ...(after === undefined ? {} : { after }) })
    tokens.push(...page.tokens)
    after = page.next
  } while (after !== undefined && tokens.length < maxTokens)
  return { tokens, isTruncated: after !== undefined }
}

async function counterRows(
  meters: Pick<MeterStore, 'sums'>,
  token: string,
  { from, to, model }: { readonly from: string; readonly to: string; readonly model: string | undefined },
): Promise<readonly UsageReportRow[]> {
  const sums = await meters.sums({ tokenId: token, from, to })
  return sums
    .filter((row) => model === undefined || row.model === model)
    .map(({ day, model, calls, inputTokens, cachedTokens, outputTokens, cost, unpriced }) => ({
      token,
      model,
      day,
      calls,
      inputTokens,
      cachedTokens,
      outputTokens,
      cost: fromBillionths(cost),
      unpriced,
    }))
}

const reportToken = (
  { id, name, owner, expiresAt, revokedAt }: TokenRecord,
  counts: Pick<UsageReportToken, 'limits' | 'budgets'>,
): UsageReportToken => ({
  id,
  ...(name === undefined ? {} : { name }),
  ...(owner === undefined ? {} : { owner }),
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(revokedAt === undefined ? {} : { revokedAt }),
  ...counts,
})

/** Returns a filter of the query; undefined if it is empty, as forms send it. */
function textOf(query: UsageReportQuery, name: 'token' | 'model'): string | undefined {
  const value: unknown = query[name]
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && value.length <= 512) return value
  throw new GatewayError('invalid_request', `'${name}' must be a string of at most 512 characters.`, { param: name })
}

const unavailable = (message: string, retryAfter: number, cause?: unknown): GatewayError =>
  new GatewayError('unavailable', message, { retryAfter, ...(cause === undefined ? {} : { cause }) })

const toReportError = (error: unknown): unknown =>
  error instanceof StorageAwayError
    ? unavailable(
        'Usage cannot be read at the moment: the storage of tokens is unavailable. Try again shortly.',
        1,
        error,
      )
    : error
