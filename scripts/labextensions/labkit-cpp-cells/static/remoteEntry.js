// A JupyterLab extension as one file: no build, no node. JupyterLab gives every code cell of a notebook the kernel's
// language, Python; here a cell that holds C++ gets that of C++, and CodeMirror's own mode for it does the rest.
(() => {
  // The same as is_cpp in labkit/notebook/cells.py.
  const CPP = /^(?:%%ascendc\b|%%exercise\b[^]*?(?:^\s*\/\/|;[ \t]*(?:\/\/.*)?$))/;
  const HOLDS_CPP = new RegExp(CPP.source, "m");
  const holdsCpp = text => text.startsWith("%%") && HOLDS_CPP.exec(text)?.index === 0;

  let shared = {};
  // What JupyterLab shares with its extensions; it has one version of each package.
  const module = async name => (await Object.values(shared[name])[0].get())();

  const watch = (model, languages) => {
    let own = "";  // what JupyterLab gave the cell last
    const choose = async () => {
      if (model.mimeType !== "text/x-c++src") own = model.mimeType;
      // An editor takes a language when it has been loaded. Python, asked for before, must not arrive behind C++.
      await languages.getLanguage(own);
      await new Promise(resolve => setTimeout(resolve));
      if (model.isDisposed) return;
      const wanted = holdsCpp(model.sharedModel.getSource()) ? "text/x-c++src" : own;
      if (wanted && model.mimeType !== wanted) model.mimeType = wanted;
    };
    model.contentChanged.connect(choose);
    model.mimeTypeChanged.connect(choose);
    choose();
  };

  const plugin = (tracker, registry) => ({
    id: "labkit-cpp-cells:plugin",
    description: "Cells that hold C++ in the colours of C++",
    autoStart: true,
    requires: [tracker, registry],
    activate: (_app, notebooks, languages) => {
      notebooks.widgetAdded.connect((_, panel) => {
        const seen = new WeakSet();
        const all = () => {
          for (const model of panel.content.model?.cells ?? [])
            if (model.type === "code" && !seen.has(model)) { seen.add(model); watch(model, languages); }
        };
        panel.context.ready.then(() => { all(); panel.content.model?.cells.changed.connect(all); });
      });
    },
  });

  (window._JUPYTERLAB ??= {})["labkit-cpp-cells"] = {
    init: scope => { shared = scope; },
    get: async () => {
      const { INotebookTracker } = await module("@jupyterlab/notebook");
      const { IEditorLanguageRegistry } = await module("@jupyterlab/codemirror");
      return () => ({ __esModule: true, default: plugin(INotebookTracker, IEditorLanguageRegistry) });
    },
  };
})();
