import type { GatewayError } from '../base/errors.ts'
import type { FailureCause } from '../config/finish-event.ts'
import type { AttemptLog } from './call.ts'

/** Errors that are read of a chain: `fetch failed` > AggregateError > the error of one address. */
const maxDepth = 6

/** Records the connection failure behind an attempt's error, if there is one. */
export function recordFailureCause(log: AttemptLog, error: GatewayError): void {
  if (log.cause !== undefined || error.info.kind === 'cancelled') return
  const cause = failureCause(error.cause)
  if (cause !== undefined) log.cause = cause
}

/**
 * Returns the code and address in a transport's chain of errors. The innermost ones win: undici wraps the error of the system. Only short
 * codes and addresses are read, never messages and URLs, which may contain credentials.
 */
export function failureCause(cause: unknown): FailureCause | undefined {
  let code: string | undefined
  let address: string | undefined
  let link = cause
  for (let depth = 0; depth < maxDepth && typeof link === 'object' && link !== null; depth++) {
    const error = link as SystemError
    code = textIn(error.code, codePattern) ?? code
    address = addressIn(error) ?? address
    link = error.cause ?? (Array.isArray(error.errors) ? error.errors[0] : undefined)
  }
  if (code === undefined && address === undefined) return undefined
  return { ...(code === undefined ? {} : { code }), ...(address === undefined ? {} : { address }) }
}

/** Members of errors of Node, Bun and undici. */
interface SystemError {
  readonly code?: unknown
  readonly address?: unknown
  readonly port?: unknown
  /** Name that DNS could not resolve. */
  readonly hostname?: unknown
  /** Name that a certificate does not cover. */
  readonly host?: unknown
  /** The connection of undici's SocketError. */
  readonly socket?: { readonly remoteAddress?: unknown; readonly remotePort?: unknown } | null
  readonly errors?: unknown
  readonly cause?: unknown
}

const codePattern = /^[A-Za-z][\w.-]{0,63}$/
/** No slashes, `@` or `?`: an address is no URL. */
const addressPattern = /^[\w.:%-]{1,253}$/

function addressIn({ address, port, hostname, host, socket }: SystemError): string | undefined {
  const name =
    textIn(address, addressPattern) ??
    textIn(hostname, addressPattern) ??
    textIn(host, addressPattern) ??
    textIn(socket?.remoteAddress, addressPattern)
  if (name === undefined) return undefined
  const at = port ?? socket?.remotePort
  if (typeof at !== 'number') return name
  return name.includes(':') ? `[${name}]:${at}` : `${name}:${at}`
}

const textIn = (value: unknown, pattern: RegExp): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined

/** Returns whether a transport reports that a failed request was sent twice. */
export const isResentFailure = (cause: unknown): boolean =>
  cause instanceof Error && 'resent' in cause && cause.resent === true
