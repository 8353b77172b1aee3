const embedTask =
  'TASK_TYPE_UNSPECIFIED|RETRIEVAL_QUERY|RETRIEVAL_DOCUMENT|SEMANTIC_SIMILARITY|CLASSIFICATION|CLUSTERING|QUESTION_ANSWERING|FACT_VERIFICATION|CODE_RETRIEVAL_QUERY'

/**
 * Fields of Google's requests by message, from Google's published interface description; others are rejected. `[T]` is a list,
 * `{T}` a map, `any` any JSON, `struct` a JSON object, else a message or a scalar.
 */
const table: Readonly<Record<string, string>> = {
  GenerateContentRequest: `tools:[Tool] cachedContent:string store:bool systemInstruction:Content contents:[Content]
    toolConfig:ToolConfig model:string safetySettings:[SafetySetting] generationConfig:GenerationConfig serviceTier:word`,
  CachedContent: `name:string model:string displayName:string contents:[Content] systemInstruction:Content tools:[Tool]
    toolConfig:ToolConfig ttl:string expireTime:string createTime:string updateTime:string`,
  BatchEmbedContentsRequest: 'model:string requests:[EmbedContentRequest]',
  EmbedContentRequest: `model:string content:Content title:string outputDimensionality:int
    taskType:${embedTask} embedContentConfig:EmbedContentConfig`,
  EmbedContentConfig: `taskType:${embedTask} title:string autoTruncate:bool documentOcr:bool audioTrackExtraction:bool
    outputDimensionality:int`,
  CountTokensRequest: 'contents:[Content] generateContentRequest:GenerateContentRequest',
  Tool: `mcpServers:[any] urlContext:any functionDeclarations:[FunctionDeclaration] codeExecution:any
    googleSearchRetrieval:any googleSearch:any fileSearch:any googleMaps:any computerUse:any`,
  Content: 'role:string parts:[Part]',
  ToolConfig: `functionCallingConfig:FunctionCallingConfig includeServerSideToolInvocations:bool retrievalConfig:any`,
  FunctionCallingConfig: 'mode:MODE_UNSPECIFIED|AUTO|ANY|NONE|VALIDATED allowedFunctionNames:[string]',
  SafetySetting: `category:word
    threshold:HARM_BLOCK_THRESHOLD_UNSPECIFIED|BLOCK_LOW_AND_ABOVE|BLOCK_MEDIUM_AND_ABOVE|BLOCK_ONLY_HIGH|BLOCK_NONE|OFF`,
  GenerationConfig: `enableAffectiveDialog:bool speechConfig:any frequencyPenalty:number topK:int topP:number
    translationConfig:any temperature:number imageConfig:any maxOutputTokens:int candidateCount:int seed:int
    mediaResolution:MEDIA_RESOLUTION_UNSPECIFIED|MEDIA_RESOLUTION_LOW|MEDIA_RESOLUTION_MEDIUM|MEDIA_RESOLUTION_HIGH
    enableEnhancedCivicAnswers:bool responseLogprobs:bool responseModalities:[MODALITY_UNSPECIFIED|TEXT|IMAGE|AUDIO|VIDEO]
    stopSequences:[string] responseJsonSchema:any responseSchema:Schema logprobs:int responseFormat:any
    presencePenalty:number thinkingConfig:ThinkingConfig audioTranscriptionConfig:any responseMimeType:string`,
  ThinkingConfig: `includeThoughts:bool thinkingBudget:int
    thinkingLevel:THINKING_LEVEL_UNSPECIFIED|MINIMAL|LOW|MEDIUM|HIGH`,
  FunctionDeclaration: `behavior:UNSPECIFIED|BLOCKING|NON_BLOCKING parameters:Schema response:Schema
    responseJsonSchema:any name:string description:string parametersJsonSchema:any`,
  Schema: `default:any minLength:long maximum:number propertyOrdering:[string] format:string minimum:number
    type:TYPE_UNSPECIFIED|STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL items:Schema enum:[string] pattern:string
    maxProperties:long maxItems:long required:[string] minItems:long properties:{Schema} minProperties:long example:any
    nullable:bool anyOf:[Schema] maxLength:long description:string title:string`,
  Part: `functionResponse:FunctionResponse mediaProcessing:word thoughtSignature:bytes partMetadata:struct
    codeExecutionResult:any mediaResolution:any videoMetadata:any toolCall:any thought:bool text:string
    fileData:FileData inlineData:Blob functionCall:FunctionCall executableCode:any toolResponse:any`,
  FunctionResponse: `response:struct name:string scheduling:word id:string parts:[FunctionResponsePart] willContinue:bool`,
  // `fileData` was recorded but is missing in the description.
  FunctionResponsePart: 'inlineData:Blob fileData:FileData',
  FunctionCall: 'args:struct name:string id:string',
  FileData: 'fileUri:string mimeType:string',
  Blob: 'mimeType:string data:bytes',
}

const snakeOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A field: its name in JSON and in the interface description, and its type. */
export interface GeminiField {
  readonly name: string
  readonly snake: string
  readonly type: string
}

const messages = new Map<string, ReadonlyMap<string, GeminiField>>()
for (const [message, text] of Object.entries(table)) {
  const fields = new Map<string, GeminiField>()
  for (const word of text.split(/\s+/)) {
    const colon = word.indexOf(':')
    const name = word.slice(0, colon)
    const field = { name, snake: snakeOf(name), type: word.slice(colon + 1) }
    fields.set(field.name, field)
    fields.set(field.snake, field)
  }
  messages.set(message, fields)
}

/** Returns the fields of a message by both spellings; undefined for scalars. */
export const fieldsOf = (type: string): ReadonlyMap<string, GeminiField> | undefined => messages.get(type)
