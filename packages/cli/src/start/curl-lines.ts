import { quoted } from '../quoted.ts'

/** What curl sends as the token: one, a variable of the shell, or none. */
export type CurlToken = { readonly token: string } | { readonly variable: string } | 'none'

/**
 * Calls that work when pasted into a shell, one for each format and the list of models.
 *
 * @param models names that can be talked to; without any there is the list of models only
 */
export function curlLines(root: string, token: CurlToken, models: readonly string[]): string[] {
  const json = `-H 'content-type: application/json'`
  /** @param header what stands before the token, with a blank behind */
  const withToken = (header: string): string =>
    token === 'none'
      ? ''
      : 'variable' in token
        ? `-H "${header}$${token.variable}" `
        : `-H ${quoted(header + token.token)} `
  const bearer = withToken('authorization: Bearer ')
  const words = 'Say hello in one sentence.'
  const hello = [{ role: 'user', content: words }]
  const model = (index: number): string => models[index % models.length] ?? ''
  const data = (body: unknown): string => `-d ${quoted(JSON.stringify(body))}`
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
