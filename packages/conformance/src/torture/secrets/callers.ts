import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientFormat } from '../../base/client-formats.ts'
import { rawCall } from '../../base/raw-http.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import type { CheckContext, Profile, Target } from '../check.ts'

/** Places for tokens in requests. */
export interface Carrier {
  readonly name: string
  headers(token: string): Readonly<Record<string, string>>
  /** Returns the query; '' if it is empty. */
  query(token: string): string
}

const byHeader = (name: string, header: string, prefix = ''): Carrier => ({
  name,
  headers: (token) => ({ [header]: prefix + token }),
  query: () => '',
})

export const bearer = byHeader('Bearer', 'authorization', 'Bearer ')
export const inQuery: Carrier = {
  name: '?key=',
  headers: () => ({}),
  query: (token) => `key=${encodeURIComponent(token)}`,
}
/** All carriers. */
export const carriers: readonly Carrier[] = [
  bearer,
  byHeader('x-api-key', 'x-api-key'),
  byHeader('x-goog-api-key', 'x-goog-api-key'),
  byHeader('api-key', 'api-key'),
  inQuery,
]

/** All headers that may hold a token. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
])

/** Returns the headers of a call to this target without a credential. */
export const withoutCredential = (target: Target, format: ClientFormat = 'chat'): Record<string, string> => {
  const pair = target.pairs.find(({ client }) => client === format) ?? { client: format, upstream: 'chat' }
  return Object.fromEntries(
    Object.entries(target.headers(pair)).filter(([name]) => !credentialHeaders.has(name.toLowerCase())),
  )
}

/** Returns a target with another token in its headers. */
export const asTenant = (target: Target, token: string): Target => ({
  ...target,
  headers: (pair) => ({ ...target.headers(pair), authorization: `Bearer ${token}` }),
})

/** Outcome of a call; status 0 without a response. */
export interface CallOutcome {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Sends a request exactly as written; never rejects. */
export const call = (
  { origin }: Pick<Target, 'origin'>,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<CallOutcome> =>
  rawCall({ origin }, { method, path, headers, ...(body === undefined ? {} : { body }) }).catch((error: unknown) => ({
    status: 0,
    headers: {},
    text: error instanceof Error ? error.message : String(error),
  }))

/** Generation path of every format, for gateways whose routes are unknown. */
export const generationPaths: Readonly<Record<Format, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  gemini: '/v1beta/models/{model}:generateContent',
  responses: '/v1/responses',
}

/** Creates a folder for the duration of the work. */
export async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-torture-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Starts a gateway whose tokens are in this folder. Undefined if the target cannot be configured. */
export const withTokens = (setting: CheckContext, folder: string, profile: Profile = {}) =>
  setting.fresh({ ...profile, tokens: { folder } })
