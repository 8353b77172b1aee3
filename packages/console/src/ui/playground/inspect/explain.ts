import type { Explanation } from '@modelgate/core'
import type { Api, ApiRequest } from '../formats/format.ts'

export type { ExplainedTarget, Explanation } from '@modelgate/core'

export interface Refused {
  /** 0 if the gateway could not be reached. */
  readonly status: number
  readonly message: string
}

export type Explained =
  | { readonly state: 'explained'; readonly explanation: Explanation }
  | { readonly state: 'refused'; readonly refused: Refused }

export interface ExplainRequest {
  readonly base: string
  readonly token: string
  readonly format: Pick<Api, 'credential'>
  readonly request: ApiRequest
  readonly signal?: AbortSignal
}

/** Asks the gateway to explain a call without making it. Rejects only if it is aborted. */
export async function explain({ base, token, format, request, signal }: ExplainRequest): Promise<Explained> {
  try {
    const response = await fetch(`${base}/console/explain?path=${encodeURIComponent(request.path)}`, {
      method: 'POST',
      headers: { ...request.headers, ...(token === '' ? {} : format.credential(token)) },
      body: JSON.stringify(request.body),
      cache: 'no-store',
      ...(signal === undefined ? {} : { signal }),
    })
    const body: unknown = await response.json()
    return response.ok
      ? { state: 'explained', explanation: body as Explanation }
      : { state: 'refused', refused: { status: response.status, message: messageOf(body, response.status) } }
  } catch (error) {
    if (signal?.aborted === true) throw error
    const why = error instanceof Error ? error.message : String(error)
    return { state: 'refused', refused: { status: 0, message: `The gateway could not explain this call: ${why}` } }
  }
}

/** Returns the error message, which every format keeps in the same place. */
function messageOf(body: unknown, status: number): string {
  const { message } = (body as { error?: { message?: unknown } } | null)?.error ?? {}
  return typeof message === 'string' ? message : `The gateway returned status ${status}.`
}
