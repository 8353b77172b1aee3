import type { AttemptLog } from './attempt.ts'
import type { Plugin } from './plugin.ts'
import type { TargetCall } from './targets.ts'
import { isThenable } from './thenable.ts'

type Announced = Pick<TargetCall, 'shared' | 'inbound' | 'ledger' | 'request'>

/** Tells the plugins that a call begins. */
export function announce({ shared, inbound, ledger, request }: Announced): void {
  ledger.announced = true
  // Books of a stream are open as long as it runs: they must not hold a body that others let go of.
  if (request.outline === undefined) ledger.body = request.value
  else ledger.tokens = request.outline.tokens
  for (const plugin of shared.plugins) {
    if (plugin.onRequest === undefined) continue
    const { requestId, identity, operation, format, model, stream } = ledger
    observed(shared.logger, plugin, 'onRequest', () =>
      plugin.onRequest?.({
        requestId,
        identity,
        operation,
        format,
        model,
        stream,
        startedAt: ledger.arrivedAt,
        body: request.value,
        header: (name) => inbound.header(name),
      }),
    )
  }
}

const traceHeaders = ['traceparent', 'tracestate'] as const

/** What a call upstream carries beside the upstream's own headers: the trace that it is part of, as the client or a plugin has it. */
export function headersFor(
  { shared, inbound, ledger }: Pick<TargetCall, 'shared' | 'inbound' | 'ledger'>,
  log: AttemptLog,
): Readonly<Record<string, string>> | undefined {
  let headers: Record<string, string> | undefined
  for (const name of traceHeaders) {
    const value = inbound.header(name)
    // Without the parent the state means nothing.
    if (value === undefined || !isHeader([name, value])) break
    headers = { ...headers, [name]: value }
  }
  for (const plugin of shared.plugins) {
    if (plugin.onUpstream === undefined) continue
    const { upstream, model, reason } = log
    const attempt = ledger.attempts.length
    const added = observed(shared.logger, plugin, 'onUpstream', () =>
      plugin.onUpstream?.({ requestId: ledger.requestId, upstream, model, attempt, reason }),
    )
    if (added === undefined || added === null) continue
    const bad = Object.entries(added).find((header) => !isHeader(header))
    if (bad !== undefined) {
      shared.logger.error(`modelgate: onUpstream of plugin '${plugin.name}' gave a header '${bad[0]}' that is none`)
      continue
    }
    // Another parent's state would be beside the point.
    if (added.traceparent !== undefined && headers?.tracestate !== undefined) {
      const { tracestate: _other, ...rest } = headers
      headers = rest
    }
    headers = { ...headers, ...added }
  }
  return headers
}

/** An observer's exception is logged, never thrown, also where the observer is an async function after all. */
function observed<T>(
  logger: TargetCall['shared']['logger'],
  { name }: Plugin,
  hook: string,
  call: () => T,
): T | undefined {
  const failed = (error: unknown): undefined =>
    logger.error(`modelgate: ${hook} of plugin '${name}' failed`, error) as undefined
  try {
    const result: unknown = call()
    if (!isThenable(result)) return result as T
    // Nobody waits for it: what it comes to is too late.
    Promise.resolve(result).catch(failed)
    return undefined
  } catch (error) {
    return failed(error)
  }
}

/** What may stand in a header. A value that may not would fail the call, and look as if the upstream had. */
const isHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
