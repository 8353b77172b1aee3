import type { ModelRule } from '../formats/model-rule.ts'
import type { Upstream } from './upstream.ts'

/** Returns the rules of an upstream: the operator's first, then the built-in ones. */
export function modelRules(
  given: readonly ModelRule[] = [],
  builtIn: readonly ModelRule[] = [],
): Pick<Upstream, 'modelRules'> {
  const rules = [...given, ...builtIn]
  return rules.length === 0 ? {} : { modelRules: rules }
}

/** Returns the problems of an operator's rules. */
export function modelRuleProblems(given: unknown): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) return ["modelRules is no list: write [{ model: 'my-deployment', like: 'gpt-5.4' }]"]
  return given.flatMap((rule: Partial<ModelRule> | null | undefined, index) =>
    typeof rule?.model === 'string' && rule.model !== ''
      ? []
      : [`modelRules[${index}] has no model: write the beginning of the model's name`],
  )
}
