import type { CallBodies, CapturedBody } from '@modelgate/core'

/** Bounds of captured bodies. */
export interface CaptureLimits {
  /** Most bytes that are kept of one body. Default: 65536 (64 KiB). */
  maxBodyBytes?: number
  /**
   * Most bytes of memory for the bodies of all recent calls. Beyond it, the oldest bodies are dropped; their calls stay. Running calls may hold
   * as much again. Default: 33554432 (32 MiB).
   */
  maxTotalBytes?: number
}

/** The bodies of a recent call. */
export type RecentBodies =
  /** `'off'`: bodies are not captured. `'dropped'`: they were, until newer bodies needed the memory. `'none'`: the call had ended before a body was read. */
  | { readonly state: 'off' | 'dropped' | 'none' }
  | {
      readonly state: 'captured'
      /** Most bytes that are kept of one body. */
      readonly maxBodyBytes: number
      /** The client's request. Absent: it has no body. */
      readonly request?: RecentBody
      /** The response that the client received. Absent: the client disconnected before it began. */
      readonly response?: RecentBody
      /** Upstream calls. If there are more than four, the first three and the last one. */
      readonly attempts: readonly RecentAttemptBodies[]
    }

/** The bodies of one upstream call. */
export interface RecentAttemptBodies {
  /** Index in the attempts of the call. */
  readonly index: number
  /** Path of the upstream request, without its host and query. Absent: the request was not sent. */
  readonly path?: string
  readonly request?: RecentBody
  readonly response?: RecentBody
}

/** A body as far as it was kept, without credentials. */
export interface RecentBody extends Omit<CapturedBody, 'text' | 'contentType'> {
  readonly contentType?: string
  /** Absent unless `kind` is `'text'` or `'form'`. */
  readonly text?: string
}

/** The bodies of the recent calls, within a limit of memory. */
export interface BodyStore {
  readonly maxBodyBytes: number
  readonly maxTotalBytes: number
  /** Adds the bodies of a call. Drops the oldest ones if there is no room. */
  add(bodies: CallBodies): void
  /** Forgets the bodies of a call that is no longer stored. */
  forget(requestId: string): void
  read(requestId: string): RecentBodies
}

/**
 * Creates a store of bodies.
 *
 * @throws TypeError for an invalid limit
 */
export function createBodyStore({ maxBodyBytes = 65_536, maxTotalBytes = 32 * 1024 * 1024 }: CaptureLimits): BodyStore {
  checkLimit('maxBodyBytes', maxBodyBytes)
  checkLimit('maxTotalBytes', maxTotalBytes)
  // In the order of their calls' ends.
  const stored = new Map<string, CallBodies>()
  const dropped = new Set<string>()
  let total = 0
  const remove = (requestId: string): void => {
    total -= stored.get(requestId)?.heldBytes ?? 0
    stored.delete(requestId)
  }
  return {
    maxBodyBytes,
    maxTotalBytes,
    add(bodies) {
      stored.set(bodies.requestId, bodies)
      total += bodies.heldBytes
      for (const oldest of stored.keys()) {
        if (total <= maxTotalBytes) break
        remove(oldest)
        dropped.add(oldest)
      }
    },
    forget(requestId) {
      remove(requestId)
      dropped.delete(requestId)
    },
    read(requestId) {
      const bodies = stored.get(requestId)
      if (bodies === undefined) return { state: dropped.has(requestId) ? 'dropped' : 'none' }
      const { request, response, attempts } = bodies
      return {
        state: 'captured',
        maxBodyBytes,
        ...sides(request, response),
        attempts: attempts.map(({ index, path, request, response }) => ({
          index,
          ...(path === undefined ? {} : { path }),
          ...sides(request, response),
        })),
      }
    },
  }
}

const sides = (
  request: CapturedBody | undefined,
  response: CapturedBody | undefined,
): { readonly request?: RecentBody; readonly response?: RecentBody } => ({
  ...(request === undefined ? {} : { request: recentBodyOf(request) }),
  ...(response === undefined ? {} : { response: recentBodyOf(response) }),
})

/** Masks credentials now: most bodies are never shown, so masking happens only when one is read. */
const recentBodyOf = (body: CapturedBody): RecentBody => {
  const { kind, contentType, size, isCut, isShortened, isComplete } = body
  return {
    kind,
    ...(contentType === undefined ? {} : { contentType }),
    size,
    isCut,
    isShortened,
    isComplete,
    ...(kind === 'text' || kind === 'form' ? { text: body.text() } : {}),
  }
}

function checkLimit(name: keyof CaptureLimits, bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes > 0) return
  throw new TypeError(
    `consolePages: recentCalls.capture.${name} is ${String(bytes)}: set it to a whole number of bytes greater than 0.`,
  )
}
