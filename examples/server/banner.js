/** @param {string} text a word of a shell command line */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`

/** Where clients on this machine reach the server. @param {string} host @param {number} port */
export function rootUrl(host, port) {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/**
 * Calls that work when pasted into a shell, one for each format and the list of models. Without a token they take that of the
 * shell's variable TOKEN.
 * @param {string} root @param {string | undefined} token @param {readonly string[]} models
 */
export function curlLines(root, token, models) {
  const json = `-H 'content-type: application/json'`
  /** @param {string} header what stands before the token */
  const withToken = (header) => (token === undefined ? `-H "${header}$TOKEN"` : `-H ${quote(header + token)}`)
  const bearer = withToken('authorization: Bearer ')
  const words = 'Say hello in one sentence.'
  const hello = [{ role: 'user', content: words }]
  /** @param {number} index */
  const model = (index) => models[index % models.length] ?? ''
  /** @param {unknown} body */
  const data = (body) => `-d ${quote(JSON.stringify(body))}`
  return [
    `curl -sN ${root}/v1/chat/completions ${bearer} ${json} ${data({ model: model(0), stream: true, messages: hello })}`,
    `curl -s ${root}/v1/messages ${withToken('x-api-key: ')} -H 'anthropic-version: 2023-06-01' ${json} ${data({ model: model(1), max_tokens: 256, messages: hello })}`,
    `curl -s ${root}/v1beta/models/${model(2)}:generateContent ${withToken('x-goog-api-key: ')} ${json} ${data({ contents: [{ parts: [{ text: words }] }] })}`,
    `curl -s ${root}/v1/responses ${bearer} ${json} ${data({ model: model(3), input: words })}`,
    `curl -s ${root}/v1/models ${bearer}`,
  ]
}

/** @param {string | undefined} data the folder of the issued tokens */
const issuing = (data) =>
  `issue one: MODELGATE_DATA=${quote(data ?? '')} node examples/server/tokens.js issue --name laptop`

/** What the server says once it listens. @param {import('./config.js').Config} config @param {number} port */
export function banner({ host, token, data, tokenIsMade, models, demo, notes }, port) {
  const root = rootUrl(host, port)
  const names = Object.keys(models)
  const exact = names.filter((name) => !name.endsWith('*'))
  return [
    `Modelgate listens on ${root}`,
    '',
    `  Home page          ${root}/`,
    `  Playground         ${root}/console/playground`,
    `  OpenAI clients     base URL ${root}/v1`,
    `  Anthropic clients  base URL ${root}`,
    `  Google clients     base URL ${root}`,
    `  Token              ${token ?? issuing(data)}${tokenIsMade ? '  (made for this run; set MODELGATE_TOKEN to keep one)' : ''}`,
    `  Models             ${names.join(', ')}`,
    ...(demo
      ? [
          '',
          'No provider key is set, so a demo answers. Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY for real ones.',
        ]
      : []),
    ...notes.flatMap((note) => ['', `Note: ${note}.`]),
    '',
    'Try it:',
    '',
    ...(token === undefined ? ['TOKEN=mg-…'] : []),
    ...curlLines(root, token, exact),
    '',
  ].join('\n')
}
