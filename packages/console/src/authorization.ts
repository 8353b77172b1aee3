import { type AuthRequest, GatewayError, type Inbound } from '@modelgate/core'

/** Returns whether a request is authorized, by its method, path and headers. */
export type Authorize = (request: AuthRequest) => boolean | Promise<boolean>

/**
 * Checks an `authorize` option.
 *
 * @throws TypeError if it is no function: JavaScript callers may leave it out
 */
export function checkAuthorize(authorize: unknown, option: string, what: string): void {
  if (typeof authorize !== 'function')
    throw new TypeError(
      `consolePages: ${option} needs \`authorize\`, a function that returns whether a request may ${what}: { authorize: ({ header }) => … }`,
    )
}

export const requestOf = (inbound: Inbound): AuthRequest => ({
  method: inbound.method,
  path: inbound.path,
  header: (name) => inbound.header(name.toLowerCase()),
})

/** Returns the 401 of requests that are not authorized. `subject`: `Recent calls`. */
export const unauthorized = (subject: string): GatewayError =>
  new GatewayError('authentication', `${subject} require the credential of an administrator.`, {
    headers: { 'cache-control': 'no-store' },
  })
