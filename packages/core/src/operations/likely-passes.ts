import type { CallRecord } from '../accounting/call-record.ts'
import { speaks } from '../upstreams/outgoing-call.ts'
import type { HandlerConfig } from './handler.ts'
import type { Route } from './routes.ts'

/**
 * Tells for a model's name whether its request will probably pass unchanged, so that its body need not be parsed in full. Undefined where
 * the whole value is needed anyway: by plugins that have `onRequest`, or by the memory of responses.
 */
export function likelyPasses(
  { shared: { plugins, router }, keepsResponses }: HandlerConfig,
  { usesStoredResponses, format }: Route,
  { identity }: CallRecord,
): ((model: string) => boolean) | undefined {
  if ((usesStoredResponses === true && keepsResponses) || plugins.some(({ onRequest }) => onRequest !== undefined))
    return undefined
  return (name) =>
    router.has(name, identity) &&
    router.plan(name, identity).targets.some(({ upstream, model }) => speaks(upstream, format, model))
}
