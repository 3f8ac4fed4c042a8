// SPDX-License-Identifier: Apache-2.0
package anttracks.harness

import java.nio.file.{Files, Paths}
import java.util.zip.CRC32
import scala.reflect.internal.util.BatchSourceFile
import scala.reflect.io.{AbstractFile, VirtualDirectory}
import scala.tools.nsc.{Global, Settings}
import scala.tools.nsc.reporters.StoreReporter

/**
 * scalac compiles the harness's Scala programs many times over, each time by other names, from memory into memory; a
 * checksum of the classes. No package of Debian's has Scala sources that could be compiled instead.
 */
class Scalac(folder: String, copies: Int) extends Workload {
  private val programs = List("ScalaFun.scala", "ScalaActors.scala", "Scalac.scala").map { name =>
    name -> new String(Files.readAllBytes(Paths.get(folder, name)), "UTF-8")
  }

  private def sources: List[BatchSourceFile] =
    for (copy <- List.range(0, copies); (name, text) <- programs) yield new BatchSourceFile(s"copy$copy/$name",
      text.replaceAll("\\b(ScalaFun|ScalaActors|Scalac|TermParser)\\b", "$1" + copy))

  private def files(folder: AbstractFile): List[AbstractFile] =
    folder.toList.flatMap(file => if (file.isDirectory) files(file) else List(file))

  override def iterate(): Long = {
    val settings = new Settings(message => sys.error(message))
    val out = new VirtualDirectory("out", None)
    settings.outputDirs.setSingleOutput(out)
    settings.nowarn.value = true
    val reporter = new StoreReporter
    val compiler = new Global(settings, reporter)
    new compiler.Run().compileSources(sources)
    if (reporter.hasErrors) sys.error(reporter.infos.mkString("\n"))
    val crc = new CRC32
    val classes = files(out).sortBy(_.path)
    for (file <- classes) {
      crc.update(file.path.getBytes("UTF-8"))
      crc.update(file.toByteArray)
    }
    crc.getValue << 16 | classes.size
  }
}

object Scalac {
  def main(arguments: Array[String]): Unit = {
    val folder = Workload.option(arguments, "--scala-sources", ".")
    new Scalac(folder, if (Workload.small(arguments)) 1 else 6).measure(arguments)
  }
}
