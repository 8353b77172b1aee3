import { GatewayError } from '../base/errors.ts'
import type { Upstream } from './upstream.ts'

/**
 * The address of a call. In path and ending `{model}` stands for the model's name, whose slashes stay what they are, and
 * `{id}` for the same as one segment.
 *
 * @param path the operation's path below the upstream's address
 * @param ending for formats that name the model in the path: what follows it
 */
export function callUrl({ baseURL, query }: Upstream, path: string, ending: string | undefined, model: string): string {
  const whole = ending === undefined ? path : path + ending
  const url =
    baseURL +
    (whole.includes('{')
      ? whole.replace('{model}', () => inPath(model, '/')).replace('{id}', () => inPath(model, '%2F'))
      : whole)
  if (query === undefined) return url
  return url.includes('?') ? `${url}&${query.slice(1)}` : url + query
}

/** A model's name comes from the client where routes are prefixes: it must not reach any other path of the upstream. */
function inPath(model: string, slash: string): string {
  const segments = model.split('/')
  if (
    /[\ud800-\udfff]/u.test(model) ||
    segments.includes('') ||
    // Some servers take a backslash for a slash, encoded too.
    model.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')
  )
    throw new GatewayError('model_not_found', `The model '${model.slice(0, 100)}' does not exist.`, {
      param: 'model',
    })
  return segments.map(encodeURIComponent).join(slash)
}
