/** An error response of the API; status 0: the gateway could not be reached. */
export class ApiError extends Error {
  readonly status: number
  /** The invalid field or query parameter, such as `limits[0].requests`. */
  readonly param: string | undefined

  constructor(status: number, message: string, param?: string) {
    super(message)
    this.status = status
    this.param = param
  }
}

export interface AskOptions {
  /** The administrator's token. If it is empty, a session of the host may authorize the request. */
  readonly token: string
  readonly signal?: AbortSignal
  /** Default: GET. */
  readonly method?: 'POST' | 'PATCH'
  /** Fields of a POST or PATCH. Default: none. */
  readonly body?: object
}

/**
 * Calls an API of the console. `path` is relative to the page, such as `api/calls`.
 *
 * @throws ApiError for every response that is not successful, and if there is none
 */
export async function ask(path: string, { token, signal, method, body = {} }: AskOptions): Promise<Response> {
  const response = await fetch(path, {
    cache: 'no-store',
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(method === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(method === undefined ? {} : { method, body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, 'The gateway could not be reached.')
  })
  if (response.ok) return response
  const { error } = ((await response.json().catch(() => undefined)) ?? {}) as {
    error?: { message?: unknown; param?: unknown }
  }
  throw new ApiError(
    response.status,
    typeof error?.message === 'string' ? error.message : `The gateway returned status ${response.status}.`,
    typeof error?.param === 'string' ? error.param : undefined,
  )
}

/** Returns whether the gateway requires another credential. */
export const isUnauthorized = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 401 || error.status === 403)

/** Returns a query string of the parameters that are not empty. */
export const queryOf = (parameters: Readonly<Record<string, string>>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value.trim() !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
