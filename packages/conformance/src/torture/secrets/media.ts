import type { ClientFormat } from '../../base/client-formats.ts'

/** A body with URLs in the given format. */
export interface Media {
  readonly name: string
  /** Returns top-level fields that replace those of the smallest body. @param text the prompt */
  body(text: string): Readonly<Record<string, unknown>>
}

const contentOf = (kind: string, part: object): Media => ({
  name: kind,
  body: (text) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }, part] }] }),
})

const blockOf = (kind: string, block: object): Media => ({
  name: kind,
  body: (text) => ({ messages: [{ role: 'user', content: [{ text }, block] }] }),
})

const imagesOf = (kind: string, image: string): Media => ({
  name: kind,
  body: (text) => ({ messages: [{ role: 'user', content: text, images: [image] }] }),
})

const itemOf = (kind: string, part: object): Media => ({
  name: kind,
  body: (text) => ({ input: [{ role: 'user', content: [{ type: 'input_text', text }, part] }] }),
})

const partOf = (kind: string, part: object): Media => ({
  name: kind,
  body: (text) => ({ contents: [{ role: 'user', parts: [{ text }, part] }] }),
})

const toolOf = (kind: string, fields: object, words: (text: string) => object): Media => ({
  name: kind,
  body: (text) => ({ ...words(text), ...fields }),
})

const turn = (text: string): object => ({ messages: [{ role: 'user', content: text }] })
const input = (text: string): object => ({ input: text })
const contents = (text: string): object => ({ contents: [{ role: 'user', parts: [{ text }] }] })

/** Returns every place of a format where a URL may be. */
export const mediaOf = (format: ClientFormat, origin: string): readonly Media[] => {
  const image = `${origin}/picture.png`
  const file = `${origin}/file.pdf`
  const dialects: Readonly<Record<ClientFormat, readonly Media[]>> = {
    ollama: [
      imagesOf('a URL in place of an image', image),
      imagesOf('a data URL with a URL', `data:image/png;base64,${image}`),
      toolOf('an image in a tool result', {}, (text) => ({
        messages: [
          { role: 'user', content: text },
          { role: 'assistant', content: '', tool_calls: [{ function: { name: 'look', arguments: {} } }] },
          { role: 'tool', tool_name: 'look', content: 'well', images: [image] },
        ],
      })),
    ],
    converse: [
      blockOf('an image in S3', { image: { format: 'png', source: { s3Location: { uri: image } } } }),
      blockOf('an image with a URL in place of bytes', { image: { format: 'png', source: { bytes: image } } }),
      blockOf('a document in S3', { document: { format: 'pdf', name: 'file', source: { s3Location: { uri: file } } } }),
      blockOf('a video in S3', { video: { format: 'mp4', source: { s3Location: { uri: `${origin}/film.mp4` } } } }),
    ],
    chat: [
      contentOf('image_url', { type: 'image_url', image_url: { url: image } }),
      contentOf('image_url as a string', { type: 'image_url', image_url: image }),
      contentOf('image_url with detail', { type: 'image_url', image_url: { url: image, detail: 'high' } }),
      contentOf('file_url', { type: 'file', file: { file_url: file } }),
      contentOf('file_data with a URL', { type: 'file', file: { filename: 'a.pdf', file_data: file } }),
      contentOf('video_url', { type: 'video_url', video_url: { url: `${origin}/film.mp4` } }),
      contentOf('audio_url', { type: 'audio_url', audio_url: { url: `${origin}/sound.wav` } }),
      contentOf('input_audio with a URL', {
        type: 'input_audio',
        input_audio: { data: `${origin}/sound.wav`, format: 'wav' },
      }),
      toolOf('web search options', { web_search_options: { search_url: origin } }, turn),
      toolOf('an image in a tool result', {}, (text) => ({
        messages: [
          { role: 'user', content: text },
          {
            role: 'assistant',
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: [{ type: 'image_url', image_url: { url: image } }] },
        ],
      })),
    ],
    messages: [
      contentOf('image by URL', { type: 'image', source: { type: 'url', url: image } }),
      contentOf('document by URL', { type: 'document', source: { type: 'url', url: file } }),
      contentOf('a document of image blocks', {
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url: image } }] },
      }),
      contentOf('base64 with a URL', {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: image },
      }),
      toolOf('MCP servers', { mcp_servers: [{ type: 'url', url: `${origin}/sse`, name: 'evil' }] }, turn),
      toolOf('an image in a tool result', {}, (text) => ({
        messages: [
          { role: 'user', content: text },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 't1',
                content: [{ type: 'image', source: { type: 'url', url: image } }],
              },
            ],
          },
        ],
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
      })),
    ],
    gemini: [
      partOf('fileData', { fileData: { mimeType: 'image/png', fileUri: image } }),
      partOf('file_data', { file_data: { mime_type: 'application/pdf', file_uri: file } }),
      partOf('fileData of a bucket', {
        fileData: { mimeType: 'image/png', fileUri: `gs://${origin.slice(7)}/picture.png` },
      }),
      partOf('inlineData with a URL', {
        inlineData: { mimeType: 'image/png', data: Buffer.from(image).toString('base64') },
      }),
      toolOf('URL context', { tools: [{ urlContext: {} }] }, (text) => contents(`${text} ${image}`)),
    ],
    responses: [
      itemOf('input_image', { type: 'input_image', image_url: image }),
      itemOf('input_image with detail', { type: 'input_image', image_url: image, detail: 'high' }),
      itemOf('input_file by URL', { type: 'input_file', file_url: file }),
      itemOf('file_data with a URL', { type: 'input_file', filename: 'a.pdf', file_data: file }),
      toolOf(
        'an MCP server',
        { tools: [{ type: 'mcp', server_label: 'evil', server_url: `${origin}/sse`, require_approval: 'never' }] },
        input,
      ),
      toolOf(
        'a prompt with variables',
        { prompt: { id: 'pmpt_1', variables: { picture: { type: 'input_image', image_url: image } } } },
        input,
      ),
      toolOf('a screenshot of a computer', {}, (text) => ({
        input: [
          { role: 'user', content: text },
          {
            type: 'computer_call',
            id: 'cu_1',
            call_id: 'c1',
            status: 'completed',
            action: { type: 'screenshot' },
            pending_safety_checks: [],
          },
          { type: 'computer_call_output', call_id: 'c1', output: { type: 'computer_screenshot', image_url: image } },
        ],
      })),
    ],
  }
  return dialects[format]
}
