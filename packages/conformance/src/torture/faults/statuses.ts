import { blamesClient } from '../../base/client-formats.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { sendJson } from '../../base/upstream-responses.ts'
import { type Check, type PairVariant, variantName, variantsOf } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import { type DocumentedErrors, readDocumentedErrors } from './documented-errors.ts'

interface Body {
  readonly type: string
  readonly text: (format: Format, status: number) => string
}

const json = 'application/json'
const message = 'It did not work out.'

/** Only the status describes the error. */
const bare: Readonly<Record<string, Body>> = {
  'an error without a type': { type: json, text: () => JSON.stringify({ type: 'error', error: { message } }) },
  'a page': { type: 'text/html', text: () => `<html><body>${message}</body></html>` },
  nothing: { type: json, text: () => '' },
}

/**
 * Errors as their providers write them. A gateway that passes them on unchanged must not be blamed for a missing type.
 */
const usual: Readonly<Record<string, Body>> = {
  'its own error': {
    type: json,
    text: (format, status) =>
      JSON.stringify({
        ...(format === 'messages' ? { type: 'error' } : {}),
        error:
          format === 'gemini'
            ? { code: status, message, status: 'UNKNOWN' }
            : { message, type: 'some_error', param: null, code: null },
      }),
  },
}

/** Statuses that the table does not list: they must become errors of the right class. */
const unlisted = [418, 451, 505, 520, 524, 599]

/** Returns the defect of a response according to the documented table, or undefined. */
function byTable(table: DocumentedErrors, status: number, way: PairVariant, answer: HttpResponse): string | undefined {
  const name = table.statuses[status]?.[way.upstream]
  if (name === undefined) return loosely(status, way, answer)
  const kind = table.kinds[name]
  if (kind === undefined) return `'${name}' is not a kind of the table`
  const { status: reported, type, code } = kind.tellings[way.client]
  if (answer.status !== reported) return `status ${answer.status}, expected ${reported}`
  const error = readError(way.client, answer)
  if (error === undefined) return `not in the dialect: ${answer.text.slice(0, 100)}`
  if (error.type !== type) return `type ${error.type}, expected ${type}`
  if (code !== undefined && error.code !== code) return `code ${String(error.code)}, expected ${code}`
  if (answer.headers['retry-after'] !== kind.retryAfter)
    return `retry-after ${answer.headers['retry-after']}, expected ${kind.retryAfter}`
  if (kind.hopeless && answer.headers['x-should-retry'] !== 'false') return 'x-should-retry is not false'
  return undefined
}

/** Checks rules for any gateway: an error keeps its class, and the gateway's key does not leak. */
function loosely(status: number, way: PairVariant, answer: HttpResponse): string | undefined {
  if (answer.status < 400) return `returned status ${answer.status || answer.broken}`
  if (readError(way.client, answer) === undefined) return `not in the dialect: ${answer.text.slice(0, 100)}`
  const own = status === 401 || status === 403
  if (own && blamesClient(way.client, answer.status)) return `status ${answer.status}: blames the client's key`
  if (status >= 500 && blamesClient(way.client, answer.status)) return `status ${answer.status}: blames the client`
  if (!own && answer.status === 401) return "status 401: blames the client's key"
  return undefined
}

/** Checks upstream statuses: our gateway by its documented table, others by general rules. */
export const statusTable: Check = {
  row: 15,
  group: 'Faults',
  title: 'Status table',
  promise: 'mapped by a published table; upstream 401 becomes 502/500-class, never "your key is wrong"',
  async run({ target, upstream, short }) {
    const table = readDocumentedErrors()
    const statuses = [...Object.keys(table.statuses).map(Number), ...unlisted]
    const cases = statuses.flatMap((status) =>
      Object.entries(target.local === undefined ? usual : bare)
        .slice(0, short ? 1 : undefined)
        .flatMap(([name, body]) => variantsOf(target).map((way) => ({ status, name, body, way }))),
    )
    const complaints: string[] = []
    await inParallel(cases, 8, async ({ status, name, body, way }) => {
      const scene = upstream.play((call) =>
        sendJson(call, status, body.text(way.upstream, status), { 'content-type': body.type }),
      )
      const answer = await exchange(target, { ...way, text: scene.marker }, { withinMs: 10_000 })
      scene.end()
      const wrong = target.local === undefined ? loosely(status, way, answer) : byTable(table, status, way, answer)
      if (wrong !== undefined) complaints.push(`${status} with ${name}, ${variantName(way)}: ${wrong}`)
    })
    const by = target.local === undefined ? 'mapped as any table must' : 'mapped as in docs/reference/errors.md'
    return {
      held: complaints.length === 0,
      figure: `${cases.length - complaints.length}/${cases.length} ${by} (${statuses.length} statuses)`,
      notes: tally(complaints),
    }
  },
}
