import { cleanBaseURL } from './base-url.ts'
import { commonProblems, createUpstream } from './check-options.ts'
import { type CompatibleOptions, compatibleUpstream } from './openai-compatible.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** What makers of upstreams take that speak several formats. */
export interface FormatOptions<F extends string> extends UpstreamOptions {
  /** Formats to speak with it, best first: the first is spoken to clients of formats that it does not speak. */
  formats?: readonly F[]
}

/**
 * A compatible server whose paths are all below `/v1`; its address may be given with or without.
 *
 * @param facts what is known of it; `keyVariable` is the environment variable that its key is usually read from
 * @param options what its user says
 */
export function versioned(
  facts: CompatibleOptions & { readonly keyVariable?: string },
  options: FormatOptions<'chat' | 'messages' | 'responses'>,
): Upstream {
  const { apiKey, baseURL = facts.baseURL, headers, formats = facts.formats, modelRules } = options
  const { formats: all = ['chat'], countTokens = [] } = facts
  const spoken = formats ?? all
  const problems = [
    ...commonProblems(options, { apiKey: facts.keyVariable }),
    ...spoken
      .filter((format) => !all.includes(format))
      .map((format) => `formats holds '${String(format)}': write some of ${all.join(', ')}`),
    ...(spoken.length === 0 ? [`formats is empty: write some of ${all.join(', ')}, or leave it out`] : []),
  ]
  return createUpstream(problems, () =>
    compatibleUpstream({
      ...facts,
      baseURL: `${cleanBaseURL(baseURL, '/v1')}/v1`,
      formats: spoken,
      countTokens: countTokens.filter((format) => spoken.includes(format)),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(headers === undefined ? {} : { headers }),
      modelRules: [...(modelRules ?? []), ...(facts.modelRules ?? [])],
    }),
  )
}
