import { GatewayError } from '../errors.ts'
import type { Upstream } from './upstream.ts'

/**
 * The address of a call.
 *
 * @param path the operation's path below the upstream's address
 * @param ending for formats that name the model in the path: what follows it, `{model}` standing for the name
 */
export function callUrl({ baseURL }: Upstream, path: string, ending: string | undefined, model: string): string {
  return ending === undefined ? baseURL + path : baseURL + path + ending.replace('{model}', () => inPath(model))
}

/** A model's name comes from the client where routes are prefixes: it must not reach any other path of the upstream. */
function inPath(model: string): string {
  const segments = model.split('/')
  if (
    /[\ud800-\udfff]/u.test(model) ||
    segments.some((segment) => segment === '' || segment === '.' || segment === '..')
  )
    throw new GatewayError('model_not_found', `The model '${model.slice(0, 100)}' does not exist.`, { param: 'model' })
  return segments.map(encodeURIComponent).join('/')
}
