import type { ModelRule } from '../formats/shared/model-rules.ts'
import type { Upstream } from './upstream.ts'

/** The rules of an upstream: the operator's first, then the built-in ones. */
export function modelRules(
  given: readonly ModelRule[] | undefined,
  builtIn: readonly ModelRule[] = [],
): Pick<Upstream, 'modelRules'> {
  if (given !== undefined && !Array.isArray(given))
    throw new TypeError("modelRules is no list: write [{ model: 'my-deployment', like: 'gpt-5.4' }]")
  for (const [index, { model }] of (given ?? []).entries())
    if (typeof model !== 'string' || model === '')
      throw new TypeError(`modelRules[${index}] has no model: write the beginning of the model's name`)
  const rules = [...(given ?? []), ...builtIn]
  return rules.length === 0 ? {} : { modelRules: rules }
}
