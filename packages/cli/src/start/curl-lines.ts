import { shellQuote } from '../terminal/format.ts'

/** The token in curl commands: a literal, a shell variable, or none. */
export type CurlToken = { readonly token: string } | { readonly variable: string } | 'none'

/**
 * Returns curl commands to paste: one for each format and the list of models.
 *
 * @param models names of models that can chat; without any only the list of models is returned
 */
export function curlLines(root: string, token: CurlToken, models: readonly string[]): string[] {
  const json = `-H 'content-type: application/json'`
  /** @param header the header up to the token, including the trailing blank */
  const withToken = (header: string): string =>
    token === 'none'
      ? ''
      : 'variable' in token
        ? `-H "${header}$${token.variable}" `
        : `-H ${shellQuote(header + token.token)} `
  const bearer = withToken('authorization: Bearer ')
  const words = 'Say hello in one sentence.'
  const hello = [{ role: 'user', content: words }]
  const model = (index: number): string => models[index % models.length] ?? ''
  const data = (body: unknown): string => `-d ${shellQuote(JSON.stringify(body))}`
  const list = `curl -s ${root}/v1/models ${bearer}`.trimEnd()
  if (models.length === 0) return [list]
  return [
    `curl -sN ${root}/v1/chat/completions ${bearer}${json} ${data({ model: model(0), stream: true, messages: hello })}`,
    `curl -s ${root}/v1/messages ${withToken('x-api-key: ')}-H 'anthropic-version: 2023-06-01' ${json} ${data({ model: model(1), max_tokens: 256, messages: hello })}`,
    `curl -s ${root}/v1beta/models/${model(2)}:generateContent ${withToken('x-goog-api-key: ')}${json} ${data({ contents: [{ parts: [{ text: words }] }] })}`,
    `curl -s ${root}/v1/responses ${bearer}${json} ${data({ model: model(3), input: words })}`,
    list,
  ]
}
