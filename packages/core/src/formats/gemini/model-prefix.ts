/** The collection of all models: a body names the model of its path with or without it. */
export const modelPrefix = 'models/'
